import { compare, FIGURES, type Round, type RoundPair } from './pair-part.js';

const round = (runner: number): Round => ({ cpu: { 'agent-runner': runner }, turnsPerSecond: 100 });
const pair = (before: number, now: number): RoundPair => ({ before: round(before), now: round(now) });
const figure = ({ cpu }: Round): number => cpu['agent-runner'] ?? 0;

describe('FIGURES', () => {
  test('Redis and NATS count for all processes and not for the services', () => {
    const cpu = { gateway: 1, 'agent-runner': 2, 'subagent-pool': 0.5, redis: 4, nats: 8 };
    const figures = FIGURES.map(([what, of]) => [what, of({ cpu, turnsPerSecond: 100 })]);
    expect(Object.fromEntries(figures)).toEqual({
      ...{ services: 3.5, 'all processes': 15.5 },
      ...{ 'agent-runner': 2, gateway: 1, Redis: 4, NATS: 8 },
    });
  });
});

describe('compare', () => {
  test('the ratio is that of each round, so that a slow minute of the machine counts for neither side', () => {
    const rounds = [pair(1, 1.1), pair(1, 1.1), pair(1, 1.1), pair(10, 11), pair(10, 11)];
    const { before, now, ratio } = compare(rounds, figure);
    expect([before, now]).toEqual([1, 1.1]);
    expect(ratio).toBeCloseTo(1.1);
  });

  test('one disturbed round moves the quartiles, not the median', () => {
    const rounds = [pair(1, 1), pair(1, 1), pair(1, 1), pair(1, 5)];
    expect(compare(rounds, figure)).toMatchObject({ ratio: 1, lower: 1, upper: 5 });
  });
});

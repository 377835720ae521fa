import { resolve } from 'node:path';
import type { Part } from '../bench.js';
import { cpuMeter, type CpuByProcess, type Pids } from '../cpu-time.js';
import { type Fleet, type FleetOptions, startFleet } from '../fleet.js';
import { simpleTurn, SIMPLE_TOKENS } from '../load.js';
import { type Budget, say } from '../report.js';
import { inParallel, inTurn, median, quantile, sum } from '../sample.js';
import { langGraphTarget, type Target } from '../turns.js';

const AT_ONCE = 64;
const ROUNDS = 16;
const TURNS_PER_ROUND = 400;
/** A service that has not worked for ten seconds hands memory back and is slower for a while: turns are taken faster than that. */
const WARM_UP_ROUNDS = 15;
const WARM_UP_TURNS = 300;
/** What two measurements of one version differ by. */
const MOST_RATIO = 1.05;

interface Side {
  readonly target: Target;
  readonly pids: Pids;
}

/** One round of one side; CPU in milliseconds per turn. */
export interface Round {
  readonly cpu: CpuByProcess;
  readonly turnsPerSecond: number;
}

/**
 * Simple turns of two whole systems that take turns, this build and an earlier one, with 64 threads at once: what work that
 * does not use the new features costs now and did before.
 *
 * @param before folder of a built checkout of the earlier version
 */
export const pairedLoads =
  (before: string): Part =>
  async ({ times }) => {
    const fleets: Fleet[] = [];
    const start = async (options: FleetOptions): Promise<Fleet> => {
      const fleet = await startFleet(options);
      fleets.push(fleet);
      return fleet;
    };
    try {
      const earlier = sideOf(await start({ product: resolve(before, 'dist') }), 'before');
      const now = sideOf(await start({}), 'now');
      await inTurn(times(WARM_UP_ROUNDS), (round) => bothSides(earlier, now, WARM_UP_TURNS, round));
      return sayPair(await inTurn(times(ROUNDS), (round) => bothSides(earlier, now, TURNS_PER_ROUND, round)));
    } finally {
      for (const fleet of fleets) await fleet.stop();
    }
  };

const sideOf = ({ apiUrl, services, servers }: Fleet, name: string): Side => ({
  target: langGraphTarget(name, apiUrl),
  pids: { ...services, ...servers },
});

export interface RoundPair {
  readonly before: Round;
  readonly now: Round;
}

/** Each begins every other round. */
async function bothSides(earlier: Side, now: Side, turns: number, round: number): Promise<RoundPair> {
  if (round % 2 === 0) {
    const before = await drive(earlier, turns);
    return { before, now: await drive(now, turns) };
  }
  const second = await drive(now, turns);
  return { before: await drive(earlier, turns), now: second };
}

async function drive({ target, pids }: Side, turns: number): Promise<Round> {
  const threads = await target.prepare(turns);
  const readMeter = cpuMeter(pids);
  const beganMs = performance.now();
  await inParallel(turns, AT_ONCE, async (index) => {
    const { tokens } = await target.turn(threads[index] ?? '', simpleTurn());
    if (tokens !== SIMPLE_TOKENS) throw new Error(`${target.name}: ${tokens} of ${SIMPLE_TOKENS} tokens`);
  });
  const seconds = (performance.now() - beganMs) / 1_000;
  const cpu = Object.entries(readMeter()).map(([name, ms]): [string, number] => [name, ms / turns]);
  return { cpu: Object.fromEntries(cpu), turnsPerSecond: turns / seconds };
}

const SERVERS = ['redis', 'nats'];
const cpuOf =
  (...names: readonly string[]) =>
  ({ cpu }: Round): number =>
    sum(names.map((name) => cpu[name] ?? 0));

/** What is compared, in the order of the table. */
export const FIGURES: readonly (readonly [what: string, figure: (round: Round) => number])[] = [
  ['services', ({ cpu }) => sum(Object.entries(cpu).map(([name, ms]) => (SERVERS.includes(name) ? 0 : ms)))],
  ['agent-runner', cpuOf('agent-runner')],
  ['gateway', cpuOf('gateway')],
  ['Redis', cpuOf('redis')],
  ['NATS', cpuOf('nats')],
  ['all processes', ({ cpu }) => sum(Object.values(cpu))],
];

/** A figure of both sides, and the spread of its ratio over the rounds. */
export interface Compared {
  readonly before: number;
  readonly now: number;
  /** Median, and the quartiles of the ratio of now to before. */
  readonly ratio: number;
  readonly lower: number;
  readonly upper: number;
}

export function compare(rounds: readonly RoundPair[], figure: (round: Round) => number): Compared {
  const of = (side: 'before' | 'now'): number => median(rounds.map((round) => figure(round[side])));
  const ratios = rounds.map(({ before, now }) => figure(now) / figure(before));
  return {
    before: of('before'),
    now: of('now'),
    ratio: median(ratios),
    lower: quantile(ratios, 0.25),
    upper: quantile(ratios, 0.75),
  };
}

function sayPair(rounds: readonly RoundPair[]): readonly Budget[] {
  say();
  say(`Simple turns, ${AT_ONCE} at once, of an earlier build and of this one, medians of ${rounds.length} rounds`);
  say('CPU ms per turn     before      now    ratio   half of the rounds');
  for (const [what, figure] of FIGURES) {
    const { before, now, ratio, lower, upper } = compare(rounds, figure);
    const spread = `${lower.toFixed(2)} to ${upper.toFixed(2)}`;
    say(
      `${what.padEnd(16)} ${before.toFixed(2).padStart(9)} ${now.toFixed(2).padStart(8)} ${ratio.toFixed(2).padStart(8)}   ${spread}`,
    );
  }
  const speed = compare(rounds, ({ turnsPerSecond }) => turnsPerSecond);
  say(
    `turns per second ${speed.before.toFixed(0).padStart(9)} ${speed.now.toFixed(0).padStart(8)} ${speed.ratio.toFixed(2).padStart(8)}`,
  );
  return FIGURES.filter(([what]) => ['services', 'Redis', 'NATS'].includes(what)).map(([what, figure]) => ({
    what: `CPU per simple turn at ${AT_ONCE}, ${what}`,
    value: compare(rounds, figure).ratio,
    unit: '× before',
    atMost: MOST_RATIO,
  }));
}

import { type Happened, msOfSeq, numbered, type Source } from './event-order.js';

const RUN = { thread_id: 't', run_id: 'r' };
const at = (ms: number): string => new Date(ms).toISOString();

const event = (source: Source, ms: number, type: string = source): Happened => ({
  source,
  event_type: type,
  category: 'trace',
  content: null,
  metadata: {},
  created_at: at(ms),
});

const seqs = (events: readonly Happened[]): Record<string, number> =>
  Object.fromEntries(numbered(events, RUN).map(({ event_type: type, seq }) => [type, seq]));

describe('numbered', () => {
  const messages = [event('message', 2_000, 'm1'), event('message', 2_000, 'm2'), event('message', 2_005, 'm3')];
  const others = [event('middleware', 2_000), event('subagent.end', 2_000), event('start', 1_990), event('end', 2_005)];

  test('events are in the order of their times, and those of one time in the order of their sources', () => {
    const types = numbered([...others, ...messages], RUN).map(({ event_type: type }) => type);
    expect(types).toEqual(['start', 'm1', 'm2', 'middleware', 'subagent.end', 'm3', 'end']);
  });

  test('an event has the same number whatever other sources are there, and whatever follows', () => {
    const all = seqs([...others, ...messages]);
    expect(seqs(messages)).toEqual({ m1: all['m1'], m2: all['m2'], m3: all['m3'] });
    expect(seqs(messages.slice(0, 2))).toEqual({ m1: all['m1'], m2: all['m2'] });
    expect(seqs(others.slice(0, 1))).toEqual({ middleware: all['middleware'] });
  });

  test('a number tells its millisecond, also that of the thousandth message of one commit', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => event('message', 3_000, `m${index}`));
    const numbers = numbered([...many, event('end', 3_000)], RUN).map(({ seq }) => seq);
    expect(new Set(numbers).size).toBe(1_001);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(new Set(numbers.map(msOfSeq))).toEqual(new Set([3_000]));
  });

  test('numbers are safe integers for the next hundred years', () => {
    const [far] = numbered([event('end', Date.UTC(2110, 0, 1))], RUN);
    expect(Number.isSafeInteger(far?.seq)).toBe(true);
  });
});

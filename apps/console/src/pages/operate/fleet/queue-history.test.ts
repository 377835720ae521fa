import type { QueuesReply } from '@caribou/contracts';
import { addSample, MAX_SAMPLES, type QueueSample, seriesOf, tableSamples } from './queue-history.js';

const replyAt = (seconds: number, length: number): QueuesReply =>
  ({
    at: new Date(seconds * 1_000).toISOString(),
    queues: [{ kind: 'runs', length, oldest_wait_ms: 0, users: [], is_counted_whole: true }],
  }) as unknown as QueuesReply;

const samplesOf = (count: number): readonly QueueSample[] =>
  Array.from({ length: count }, (_, index) => index + 1).reduce<readonly QueueSample[]>(
    (samples, seconds) => addSample(samples, replyAt(seconds, seconds * 10)),
    [],
  );

describe('the history of queues', () => {
  test('has the newest samples only, in their order', () => {
    const samples = samplesOf(MAX_SAMPLES + 5);

    expect(samples).toHaveLength(MAX_SAMPLES);
    expect(samples[0]?.atMs).toBe(6_000);
    expect(samples.at(-1)?.lengths).toEqual({ runs: (MAX_SAMPLES + 5) * 10 });
  });

  test('takes a reply once, and none that is older', () => {
    const samples = samplesOf(2);

    expect(addSample(samples, replyAt(2, 99))).toBe(samples);
    expect(addSample(samples, replyAt(1, 99))).toBe(samples);
  });

  test('is a series of times and lengths, with a gap for a queue that was not reported', () => {
    expect(seriesOf(samplesOf(2), 'runs')).toEqual([
      [1, 2],
      [10, 20],
    ]);
    expect(seriesOf(samplesOf(1), 'memory')).toEqual([[1], [null]]);
  });

  test('is shown as a table of a few rows, the newest first', () => {
    const rows = tableSamples(samplesOf(100));

    expect(rows.length).toBeLessThanOrEqual(12);
    expect(rows[0]?.atMs).toBe(100_000);
    expect(tableSamples([])).toEqual([]);
  });
});

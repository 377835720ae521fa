import { Registry } from 'prom-client';
import { addQueueMetrics } from './queue-metrics.js';

describe('addQueueMetrics', () => {
  test('reads a queue again once the last state is five seconds old', async () => {
    let nowMs = 0;
    const lengths = [1, 2];
    const registry = new Registry();
    const { measureQueue, readQueues } = addQueueMetrics(registry, () => nowMs);
    measureQueue('runs', () => ({ length: lengths.shift() ?? -1, oldestWaitMs: 0 }));
    const lengthAt = async (ms: number): Promise<string | undefined> => {
      nowMs = ms;
      await readQueues();
      return /caribou_queue_length\{kind="runs"\} (\S+)/.exec(await registry.metrics())?.[1];
    };

    expect([await lengthAt(0), await lengthAt(4_999), await lengthAt(5_000)]).toEqual(['1', '1', '2']);
  });
});

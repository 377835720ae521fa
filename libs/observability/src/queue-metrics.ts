import type { QueueState } from '@caribou/contracts';
import { Gauge, type Registry } from 'prom-client';

/** The queues whose state is measured. */
export type QueueKind = 'runs' | 'tasks' | 'memory' | 'conversions' | 'crons' | 'webhooks';

export interface QueueMetrics {
  /** Reads the state of a queue on requests for metrics, at most every 5 seconds. A failure is shown as NaN. */
  measureQueue(kind: QueueKind, read: () => QueueState | Promise<QueueState>): void;
}

/** How long a state is shown without being read again, as several systems may collect metrics. */
const CACHED_FOR_MS = 5_000;
const UNKNOWN: QueueState = { length: NaN, oldestWaitMs: NaN };

export function addQueueMetrics(
  registry: Registry,
  nowMs: () => number = () => performance.now(),
): QueueMetrics & { readonly readQueues: () => Promise<void> } {
  const common = { labelNames: ['kind'], registers: [registry] };
  const lengths = new Gauge({ name: 'caribou_queue_length', help: 'Work that waits in a queue', ...common });
  const waits = new Gauge({
    name: 'caribou_queue_oldest_wait_seconds',
    help: 'How long the work that has waited longest in a queue has done so',
    ...common,
  });
  const readers = new Map<QueueKind, () => Promise<QueueState>>();
  return {
    measureQueue: (kind, read) => {
      readers.set(kind, cacheState(read, nowMs));
    },
    readQueues: async () => {
      const states = [...readers].map(async ([kind, read]) => {
        const { length, oldestWaitMs } = await read();
        lengths.set({ kind }, length);
        waits.set({ kind }, oldestWaitMs / 1_000);
      });
      await Promise.all(states);
    },
  };
}

/** The function with results that are used for CACHED_FOR_MS; concurrent calls share one. */
function cacheState(read: () => QueueState | Promise<QueueState>, nowMs: () => number): () => Promise<QueueState> {
  let cached: { readonly state: Promise<QueueState>; readonly atMs: number } | undefined;
  return () => {
    if (cached === undefined || nowMs() - cached.atMs >= CACHED_FOR_MS) {
      const state = Promise.resolve()
        .then(read)
        .catch(() => UNKNOWN);
      cached = { state, atMs: nowMs() };
    }
    return cached.state;
  };
}

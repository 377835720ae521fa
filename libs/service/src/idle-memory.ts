import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

const MiB = 1024 * 1024;

interface IdleMemoryOptions {
  /** Time between two looks, in milliseconds; a process is idle when it was so from one look to the next. */
  readonly lookMs: number;
  /** Share of that time in which the event loop may be busy, 0 to 1. */
  readonly busyShare: number;
  /** The heap has grown by this much since memory was handed back, in bytes; less is not worth a collection. */
  readonly grownBytes: number;
}

const DEFAULTS: IdleMemoryOptions = { lookMs: 10_000, busyShare: 0.02, grownBytes: 12 * MiB };

/** Collects garbage, then calls back. */
export type Collect = (onDone: () => void) => void;

/**
 * Hands memory back to the system while a process has nothing to do. V8 keeps the room for short-lived objects that a
 * start or a load has taken, and collects old ones when new ones come: an idle process would keep both for good. The
 * collection takes some 50 ms, and none takes place under load.
 *
 * @returns ends it
 */
export function giveBackWhenIdle(options: Partial<IdleMemoryOptions> = {}, collect: Collect = collectAll): () => void {
  const { lookMs, busyShare, grownBytes } = { ...DEFAULTS, ...options };
  let leftBytes = 0;
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > busyShare || heapBytes() - leftBytes < grownBytes) return;
    collect(() => {
      leftBytes = heapBytes();
      before = performance.eventLoopUtilization();
    });
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

const heapBytes = (): number => getHeapStatistics().total_physical_size;

/** The only collection that also makes the room for short-lived objects small again. */
function collectAll(onDone: () => void): void {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.collectGarbage', () => {
    // Not from within its own answer: that would wait for itself.
    setImmediate(() => {
      session.disconnect();
      onDone();
    });
  });
}

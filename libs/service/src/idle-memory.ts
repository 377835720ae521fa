import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

const MiB = 1024 * 1024;

interface IdleMemoryOptions {
  /** Time between two checks, in milliseconds; a process is idle if it was so since the last check. */
  readonly checkMs: number;
  /** Share of that time in which the event loop may be busy, 0 to 1. */
  readonly busyShare: number;
  /** Growth of the heap since the last collection that justifies another one, in bytes. */
  readonly grownBytes: number;
  /** How long a process that has worked must have been idle, in milliseconds. */
  readonly idleMs: number;
  /** Processor time up to which a process has only started, and one idle check is enough, in milliseconds. */
  readonly startCpuMs: number;
}

const DEFAULTS: IdleMemoryOptions = {
  ...{ checkMs: 10_000, busyShare: 0.02, grownBytes: 12 * MiB },
  ...{ idleMs: 300_000, startCpuMs: 5_000 },
};

/** Collects garbage, then calls back. */
export type Collect = (onDone: () => void) => void;

/**
 * Returns memory to the system while a process is idle. V8 retains the space for short-lived objects that the start or a
 * load needed, and collects old objects only when new ones are allocated, so an idle process would retain both. A
 * collection takes some 50 ms, and none takes place under load.
 *
 * It is rare in a process that has worked: objects of many classes exist only while there is work, and V8 discards the machine code that expects
 * such a class once no object of it is left. The first two thousand turns after a collection cost up to 2.5 times as much.
 *
 * @returns a function that stops the checks
 */
export function releaseMemoryWhenIdle(
  options: Partial<IdleMemoryOptions> = {},
  collect: Collect = collectAll,
): () => void {
  const { checkMs, busyShare, grownBytes, idleMs, startCpuMs } = { ...DEFAULTS, ...options };
  let leftBytes = 0;
  let idleForMs = 0;
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    idleForMs = utilization > busyShare ? 0 : idleForMs + checkMs;
    if (idleForMs < (cpuMs() <= startCpuMs ? checkMs : idleMs) || heapBytes() - leftBytes < grownBytes) return;
    idleForMs = 0;
    collect(() => {
      leftBytes = heapBytes();
      before = performance.eventLoopUtilization();
    });
  }, checkMs);
  timer.unref();
  return () => clearInterval(timer);
}

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

const heapBytes = (): number => getHeapStatistics().total_physical_size;

/** The only collection that also shrinks the space for short-lived objects. */
function collectAll(onDone: () => void): void {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.collectGarbage', () => {
    // Disconnecting within the callback would deadlock.
    setImmediate(() => {
      session.disconnect();
      onDone();
    });
  });
}

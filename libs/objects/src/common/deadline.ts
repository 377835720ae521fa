import { setMaxListeners } from 'node:events';
import { AppError } from '@caribou/contracts';
import { StoreFailure } from './store-failure.js';

/** Bytes per second that a store must manage on average, or the work on an object is given up. */
const LEAST_BYTES_PER_SECOND = 256 * 1024;
/** What a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Deadline {
  /** In milliseconds, of the work without the time for `bytes`. */
  readonly timeoutMs: number;
  /** Bytes that have to be moved. */
  readonly bytes?: number;
  /** Of the caller. */
  readonly signal?: AbortSignal | undefined;
  /** What went wrong before the time was over, which says more than that it is over. */
  readonly lastFailure?: () => StoreFailure | undefined;
}

/**
 * Runs work that ends in time, or is given up: also when it does not look at its signal, as a system call on a disk that hangs.
 *
 * @throws the reason of the caller's signal; when the time is over the last failure, or a StoreFailure with the reason `timeout`;
 *   AppErrors of the work, and what `translate` makes of its other errors
 */
export async function withDeadline<T>(
  { timeoutMs, bytes = 0, signal, lastFailure }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
  translate: (error: unknown) => unknown = (error) => error,
): Promise<T> {
  signal?.throwIfAborted();
  const totalMs = Math.min(timeoutMs + Math.ceil((bytes / LEAST_BYTES_PER_SECOND) * 1_000), MAX_TIMER_MS);
  const stop = new AbortController();
  // The work may consist of many requests at the same time.
  setMaxListeners(0, stop.signal);
  const onAbort = (): void => {
    stop.abort(signal?.reason);
  };
  const timer = setTimeout(() => {
    stop.abort(lastFailure?.() ?? new StoreFailure('timeout', `not done within ${totalMs} ms`));
  }, totalMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await untilAborted(work(stop.signal), stop.signal);
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    throw error instanceof AppError ? error : translate(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** The result of work, unless the signal aborts first: then its reason is thrown, and the work is left to end by itself. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', onAbort);
    });
  });
}

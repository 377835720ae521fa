import type { Clock } from './clock.js';

export interface SharedResultOptions {
  /** Age up to which a result is shared, counted from the start of its read. */
  readonly maxAgeMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/**
 * Returns a function that calls `read` at most once in `maxAgeMs` and gives all callers within that time the same result,
 * also while the read is under way. A failed read is only shared with the callers that waited for it.
 */
export function shareRecentResult<T>(
  read: () => Promise<T>,
  { maxAgeMs, clock }: SharedResultOptions,
): () => Promise<T> {
  let latest: { readonly startedMs: number; readonly result: Promise<T> } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (latest !== undefined && nowMs - latest.startedMs < maxAgeMs) return latest.result;
    const started = { startedMs: nowMs, result: read() };
    latest = started;
    started.result.catch(() => {
      if (latest === started) latest = undefined;
    });
    return started.result;
  };
}

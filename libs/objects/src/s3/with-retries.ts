import type { Clock } from '@caribou/core';
import { StoreFailure } from '../common/store-failure.js';

/** Pause before the second attempt at most, in milliseconds; each further one may be twice as long. */
const FIRST_DELAY_MS = 100;
/** The same after an answer that says that the store has too much to do. */
const FIRST_OVERLOAD_DELAY_MS = 1_000;
const MAX_DELAY_MS = 10_000;

export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Between 0 and 1. */
  readonly random: () => number;
  readonly onRetry: (failure: StoreFailure, retry: { readonly attempt: number; readonly delayMs: number }) => void;
}

/**
 * Repeats what fails with a failure that may be repeated, with random pauses in between, so that many callers do not come back at
 * once.
 *
 * @throws what the last attempt threw, or the reason of the signal
 */
export async function withRetries<T>(
  policy: RetryPolicy,
  signal: AbortSignal,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof StoreFailure) || !error.isRepeated || signal.aborted) throw error;
      if (attempt >= policy.maxAttempts) throw error;
      const delayMs = delayAfter(error, attempt, policy.random());
      policy.onRetry(error, { attempt, delayMs });
      await policy.clock.sleep(delayMs, signal);
    }
  }
}

/** Between half and all of a pause that doubles, and never less than the store asks for. */
function delayAfter({ reason, retryAfterMs = 0 }: StoreFailure, attempt: number, random: number): number {
  const first = reason === 'overloaded' ? FIRST_OVERLOAD_DELAY_MS : FIRST_DELAY_MS;
  const longest = Math.min(first * 2 ** (attempt - 1), MAX_DELAY_MS);
  return Math.max(Math.round(longest * (0.5 + random / 2)), retryAfterMs);
}

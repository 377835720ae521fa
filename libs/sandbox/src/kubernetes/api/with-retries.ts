import type { Clock } from '@caribou/core';
import { ApiFailure } from './api-failure.js';

/** All attempts of a request together, in milliseconds. */
export const REQUEST_MS = 30_000;
const ATTEMPT_MS = 10_000;
const MAX_ATTEMPTS = 6;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;
/** A server that asks for a longer pause is not asked again. */
const MAX_RETRY_AFTER_MS = 20_000;

export interface RetryPolicy {
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  /** Between 0 and 1. */
  readonly random: () => number;
}

/**
 * Repeats what fails for a reason that may pass, with random pauses in between that double, and never sooner than the
 * server asks for. `attempt` counts from 1 and has the time that it may take.
 *
 * @throws {ApiFailure} the last one
 */
export async function withRetries<T>(
  { clock, random }: RetryPolicy,
  attempt: (number: number, timeoutMs: number) => Promise<T>,
): Promise<T> {
  const endsAtMs = clock.monotonicMs() + REQUEST_MS;
  for (let number = 1; ; number += 1) {
    const leftMs = endsAtMs - clock.monotonicMs();
    try {
      return await attempt(number, Math.max(1, Math.min(ATTEMPT_MS, leftMs)));
    } catch (error) {
      if (!(error instanceof ApiFailure) || !error.isTransient || number >= MAX_ATTEMPTS) throw error;
      const delayMs = delayAfter(error, number, random());
      if (delayMs > MAX_RETRY_AFTER_MS || clock.monotonicMs() + delayMs >= endsAtMs) throw error;
      await clock.sleep(delayMs);
    }
  }
}

function delayAfter({ retryAfterMs = 0 }: ApiFailure, number: number, random: number): number {
  const longest = Math.min(FIRST_DELAY_MS * 2 ** (number - 1), MAX_DELAY_MS);
  // Those that were sent away together do not come back together.
  return Math.round(longest * (0.5 + random / 2) + retryAfterMs * (1 + random / 10));
}

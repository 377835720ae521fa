import type { Clock } from '@caribou/core';
import type { WriteRetry } from './events/event-writer.js';
import { isStoreAway } from './release-for-takeover.js';
import type { LeaseKeeper } from './leases/lease-keeper.js';

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** More than fit into the longest time that is spent on retries. */
const MAX_ATTEMPTS = 10_000;
/** Part of the remaining time that is spent on retries; the rest is for the handover of the run. */
const RETRY_SHARE = 0.75;

export interface RetryOptions {
  readonly keeper: Pick<LeaseKeeper, 'remainingMs' | 'lost'>;
  readonly clock: Clock;
  /** 0 ≤ value < 1; keeps the writers of many runs apart. */
  readonly random?: () => number;
}

/**
 * Retries a write while the store is unavailable, for most of the time until the local deadline at the first failure.
 * A stall then causes a pause, and no model call is repeated.
 */
export function retryWrites({ keeper, clock, random = Math.random }: RetryOptions): WriteRetry {
  return async (write) => {
    let deadlineMs = Number.POSITIVE_INFINITY;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await write();
      } catch (error) {
        if (!isStoreAway(error) || keeper.lost || attempt >= MAX_ATTEMPTS) throw error;
        const nowMs = clock.monotonicMs();
        deadlineMs = Math.min(deadlineMs, nowMs + RETRY_SHARE * keeper.remainingMs);
        if (nowMs >= deadlineMs) throw error;
        const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10), MAX_PAUSE_MS) * (0.5 + random());
        await clock.sleep(Math.min(pauseMs, deadlineMs - nowMs));
      }
    }
  };
}

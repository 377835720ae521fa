import { UnavailableError } from '@caribou/contracts';
import type { Clock, RunStore } from '@caribou/core';
import type { LeaseKeeper } from './lease-keeper.js';
import type { Claimed } from './run-endings.js';

const RETRY_MS = 200;

/**
 * Gives the thread back with its run; tries until the own deadline while Redis is away.
 *
 * @throws {FencedError} when another owner has it; UnavailableError after the deadline.
 */
export async function handOver(run: {
  readonly claimed: Claimed;
  readonly keeper: LeaseKeeper;
  readonly store: Pick<RunStore, 'handOver'>;
  readonly clock: Clock;
}): Promise<void> {
  for (;;) {
    try {
      await run.store.handOver(run.claimed.lease);
      return;
    } catch (error) {
      if (!isStoreAway(error) || run.keeper.remainingMs <= 0) throw error;
      await run.clock.sleep(Math.min(RETRY_MS, Math.max(1, run.keeper.remainingMs)));
    }
  }
}

/** Redis did not answer: what a script did is unknown. A model or a sandbox that is away is the run's own failure. */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof UnavailableError && error.details['dependency'] === 'redis';

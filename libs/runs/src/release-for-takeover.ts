import { UnavailableError } from '@caribou/contracts';
import type { ActiveRun } from './active-run.js';

const RETRY_MS = 200;

/**
 * Gives the lease of the run's thread back, so that another process may claim the run; tries again while Redis is away,
 * until the local deadline of the lease.
 *
 * @throws {FencedError} when another owner has the thread; UnavailableError after the deadline.
 */
export async function releaseForTakeover({
  claimed,
  keeper,
  ports: { store, clock },
}: Pick<ActiveRun, 'claimed' | 'keeper' | 'ports'>): Promise<void> {
  for (;;) {
    try {
      await store.handOver(claimed.lease);
      return;
    } catch (error) {
      if (!isStoreAway(error) || keeper.remainingMs <= 0) throw error;
      await clock.sleep(Math.min(RETRY_MS, Math.max(1, keeper.remainingMs)));
    }
  }
}

/** Redis did not answer: what a script did is unknown. A model or a sandbox that is away is the run's own failure. */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof UnavailableError && error.details['dependency'] === 'redis';

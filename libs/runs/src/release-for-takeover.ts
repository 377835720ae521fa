import { UnavailableError } from '@caribou/contracts';
import type { HandOverReason } from '@caribou/state';
import type { ActiveRun } from './active-run.js';

const RETRY_MS = 200;

/**
 * Releases the lease of the run's thread, so that another process may claim the run; retries while Redis is
 * unavailable, until the local deadline of the lease.
 *
 * @throws {FencedError} when another owner has the thread; UnavailableError after the deadline.
 */
export async function releaseForTakeover(
  { claimed, keeper, ports: { store, clock } }: Pick<ActiveRun, 'claimed' | 'keeper' | 'ports'>,
  reason: HandOverReason,
): Promise<void> {
  for (;;) {
    try {
      await store.handOver(claimed.lease, reason);
      return;
    } catch (error) {
      if (!isStoreAway(error) || keeper.remainingMs <= 0) throw error;
      await clock.sleep(Math.min(RETRY_MS, Math.max(1, keeper.remainingMs)));
    }
  }
}

/**
 * Whether Redis did not answer, so that the outcome of a script is unknown. An unavailable model or sandbox is the
 * run's own failure.
 */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof UnavailableError && error.details['dependency'] === 'redis';

import { newId, omitUndefined, UnavailableError } from '@caribou/contracts';
import type { Clock, ThreadKey } from '@caribou/core';
import type { ClaimOptions, ClaimResult, FirstCommit, RunStore } from '@caribou/state';
import { isStoreAway } from './release-for-takeover.js';

/** Longest time in which a claim is repeated, in milliseconds. */
const PATIENCE_MS = 15_000;
/** Mean pause before a claim is repeated, in milliseconds; random, so that the claims of many threads come apart. */
const PAUSE_MS = 500;

export interface ClaimPorts {
  readonly store: Pick<RunStore, 'claim'>;
  readonly clock: Clock;
  /** 0 ≤ value < 1. */
  readonly random?: () => number;
}

export interface TimedClaim {
  readonly claimed: ClaimResult;
  /** When the request was sent, by the monotonic clock. */
  readonly sentMs: number;
}

export interface Taken {
  /** Whether its run was offered right after its admission. */
  readonly isOffered?: boolean;
  /** The first commit of that run, to be written with the claim if it can. */
  readonly first?: FirstCommit | undefined;
}

/**
 * Claims the thread's next run. A claim that Redis did not answer may take effect once Redis is back, and would block the
 * thread for the time of a lease without anybody executing its run. So it is repeated under the same id, and counts once.
 *
 * @throws {UnavailableError} when no claim was sent, or Redis did not answer in time
 */
export async function claimRun(
  { store, clock, random = Math.random }: ClaimPorts,
  thread: ThreadKey,
  { isOffered = false, first }: Taken = {},
): Promise<TimedClaim> {
  const claimId = newId();
  const deadlineMs = clock.monotonicMs() + PATIENCE_MS;
  let maybeClaimed = false;
  for (;;) {
    const sentMs = clock.monotonicMs();
    try {
      const options = maybeClaimed ? repeatedOptions(first) : { isChecked: isOffered, ...omitUndefined({ first }) };
      return { claimed: await store.claim(thread, claimId, options), sentMs };
    } catch (error) {
      maybeClaimed ||= isStoreAway(error) && !hadNoEffect(error);
      if (!maybeClaimed || !isStoreAway(error) || clock.monotonicMs() >= deadlineMs) throw error;
      await clock.sleep(PAUSE_MS * (0.5 + random()));
    }
  }
}

/** Of a claim that may have had an effect. A run that it may have admitted is found without its admission. */
const repeatedOptions = (first: FirstCommit | undefined): ClaimOptions =>
  first?.run.admission === undefined ? { isChecked: false, ...omitUndefined({ first }) } : { isChecked: false };

const hadNoEffect = (error: unknown): boolean =>
  error instanceof UnavailableError && error.details['noEffect'] === true;

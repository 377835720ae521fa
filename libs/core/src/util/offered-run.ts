import type { RunKwargs } from '@caribou/contracts';

/** A run with an input that was just admitted, as its gateway offers it to a runner. Only the store knows whether it is still like this. */
export interface OfferedRun {
  readonly runId: string;
  /** What the request asked for, as it was stored. */
  readonly kwargs: RunKwargs;
  /** The newest checkpoint of the thread at the admission; null for none. */
  readonly headId: string | null;
}

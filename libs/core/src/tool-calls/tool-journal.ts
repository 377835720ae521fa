import type { ThreadKey } from '../util/thread-key.js';
import type { ToolOutcome } from '../agent/tool.js';

/**
 * Port to the journal of tool calls with an effect outside the thread: of remote servers and of the operator's tools.
 *
 * Invariants of every implementation:
 *  - Each call is one atomic step.
 *  - `start` answers `new` to one attempt per key at most.
 *  - A stored result never changes. Entries exist at least as long as their run is in flight.
 * Every method throws UnavailableError when the store does not answer in time; whether a write took place is then
 * unknown, and repeating the same call is safe.
 */

/** The journal entry of a call, written before it is made. */
export interface JournaledCall extends ThreadKey {
  /** `run_id:tool_call_id`; unique within the thread. */
  readonly key: string;
  /** Hash of everything that decides what the call does. */
  readonly argsHash: string;
  /** The caller's epoch of the thread's lease. */
  readonly epoch: number;
  /** Tells attempts of the epoch to make the call apart: `start` may be repeated by the one that began it. */
  readonly attempt: number;
}

export type CallState =
  | { readonly state: 'new' }
  | { readonly state: 'done'; readonly outcome: ToolOutcome }
  /**
   * It was started and its outcome is unknown; once this was reported to another epoch, no result is accepted any more.
   */
  | { readonly state: 'unknown' }
  /** The key is known with another `argsHash`. */
  | { readonly state: 'mismatch' };

export interface ToolJournal {
  /**
   * Enters the call as started and answers `new`: only the caller may now make it, and the same attempt gets the same answer
   * again. Otherwise a known key gives the recorded state.
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch
   */
  start(call: JournaledCall): Promise<CallState>;
  /**
   * Stores the outcome (JSON, at most 2 MiB) of a call that this epoch started, even if the lease was lost meanwhile.
   *
   * @throws FencedError when this epoch did not start the call, or its outcome was reported as unknown to another one
   * @throws TooLargeError
   */
  finish(call: JournaledCall, outcome: ToolOutcome): Promise<void>;
  /**
   * Removes a call that this epoch started and that had no effect: its key may be started again. Idempotent.
   *
   * @throws FencedError when this epoch did not start the call, or it has an outcome
   */
  withdraw(call: JournaledCall): Promise<void>;
}

import type { ThreadKey } from '../util/thread-key.js';
import type { ToolOutcome } from '../agent/tool.js';

/**
 * Port to what is known of tool calls that have an effect outside of the thread: of remote servers, of the operator.
 *
 * Invariants every implementation keeps:
 *  - Each call is one atomic step.
 *  - `start` answers `new` at most once per key.
 *  - A result that is kept never changes. Entries live at least as long as their run is in flight.
 * Every method throws UnavailableError when the store does not answer in time; whether a write took place is then
 * unknown.
 */

/** A call as it is entered before it is made. */
export interface JournaledCall extends ThreadKey {
  /** `run_id:tool_call_id`; unique within the thread. */
  readonly key: string;
  /** Hash of everything that decides what the call does. */
  readonly argsHash: string;
  /** The caller's epoch of the thread's lease. */
  readonly epoch: number;
}

export type CallState =
  | { readonly state: 'new' }
  | { readonly state: 'done'; readonly outcome: ToolOutcome }
  /** It was begun, and nobody knows what came of it; once another epoch was told so, no result is taken any more. */
  | { readonly state: 'unknown' }
  /** The key is known with another `argsHash`. */
  | { readonly state: 'mismatch' };

export interface ToolJournal {
  /**
   * Enters the call as begun and answers `new`: the caller, and nobody else, may now make it. A known key answers what is
   * known of it.
   *
   * @throws FencedError when `epoch` is not the thread's current lease epoch
   */
  start(call: JournaledCall): Promise<CallState>;
  /**
   * Keeps the outcome (JSON, at most 2 MiB) of a call that this epoch began, also when the lease is lost meanwhile.
   *
   * @throws FencedError when the call was not begun by this epoch, or another one was told that its outcome is unknown
   * @throws TooLargeError
   */
  finish(call: JournaledCall, outcome: ToolOutcome): Promise<void>;
}

import type { GoalChange, HumanMessage, NextNode, RunEvent, ThreadState } from '@caribou/contracts';
import type { CallUsage } from '../usage/call-usage.js';

/** The position at which a run resumes: its input, or the node that its last checkpoint names. */
export type LoopPosition = 'start' | NextNode | 'end';

/** What model calls cost. */
export interface TurnUsage {
  /** Model turns of the run. */
  readonly turns: number;
  /** One entry per call whose provider reported its tokens. */
  readonly calls: readonly CallUsage[];
}

/** A checkpoint that the loop requests; the executor adds fence, head and numbering. */
export interface TurnCommit {
  readonly state: ThreadState;
  readonly next: readonly NextNode[];
  readonly events: readonly RunEvent[];
  readonly step: number;
  /** Usage of the model calls since the last commit. */
  readonly usage?: TurnUsage;
  /** How many of the waiting messages, from the oldest, the state contains. */
  readonly joined?: number;
  /** Text of the change of the goal that the state contains. */
  readonly goalChange?: string;
}

/** What the loop needs from the process that runs it. */
export interface LoopHost {
  /**
   * Commits the state, then publishes the events. Returns 'yield' when the loop must stop at this commit (drain).
   *
   * With `otherwise`, that is committed instead when messages or a change of the goal have come to wait for the run, or it was
   * cancelled; returns 'overtaken' then.
   *
   * @throws the signal's reason when the run was cancelled or lost.
   */
  commit(turn: TurnCommit, otherwise?: TurnCommit): Promise<'continue' | 'yield' | 'overtaken'>;
  /** Whether a budget of the user is used up, as far as the last commit knew: no further model call is made then. */
  isBudgetSpent?(): boolean;
  /** Whether the run is to stop before its next node, as the claim or the last commit found it. */
  isPaused?(): boolean;
  /** Messages of the user that wait to join the run, oldest first, as the claim or the last commit found them. */
  waiting?(): readonly HumanMessage[];
  /** What a client asked of the thread's goal, as the claim or the last commit found it; undefined: nothing. */
  goalChange?(): GoalChange | undefined;
}

/**
 * How the loop ended. `last` is the turn that is not committed yet: the finish script writes it. A `last.next` that is
 * not empty is a breakpoint: the run is a success and its thread interrupted.
 */
export type LoopOutcome =
  | {
      readonly kind: 'finished';
      readonly last: TurnCommit;
      readonly stopReason?: string;
    }
  /** The model failed finally, or the turn limit was reached: a visible message that says so is part of `last`. */
  | {
      readonly kind: 'failed';
      readonly last: TurnCommit;
      readonly error: { readonly name: string; readonly message: string };
      readonly stopReason?: string;
    }
  | { readonly kind: 'yielded' };

import type { NextNode, RunEvent, ThreadState } from '@caribou/contracts';
import type { CallUsage } from './middleware.js';

/** Where a run goes on: from its input, or from the node its last checkpoint named. */
export type LoopPosition = 'start' | NextNode | 'end';

/** What model calls cost. */
export interface TurnUsage {
  /** Model turns of the run. */
  readonly turns: number;
  /** One entry per call that told its tokens. */
  readonly calls: readonly CallUsage[];
}

/** A checkpoint as the loop asks for it; the executor adds fence, head and numbering. */
export interface TurnCommit {
  readonly state: ThreadState;
  readonly next: readonly NextNode[];
  readonly events: readonly RunEvent[];
  readonly step: number;
  /** Of the model calls since the last commit. */
  readonly usage?: TurnUsage;
}

/** What the loop asks of its host. */
export interface LoopHost {
  /**
   * Makes the state durable, then tells. 'yield' asks the loop to stop at this border (drain).
   *
   * @throws the signal's reason when the run was cancelled or lost.
   */
  commit(turn: TurnCommit): Promise<'continue' | 'yield'>;
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
      /** Memory may learn from what was said. */
      readonly remember?: boolean;
    }
  /** The model failed for good, or the turn limit was reached: a visible message that says so is part of `last`. */
  | {
      readonly kind: 'failed';
      readonly last: TurnCommit;
      readonly error: { readonly name: string; readonly message: string };
      readonly stopReason?: string;
    }
  | { readonly kind: 'yielded' };

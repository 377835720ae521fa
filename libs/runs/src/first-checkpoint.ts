import type { StateUpdate } from '@caribou/contracts';
import {
  applyUpdate,
  clientUpdate,
  type CommitRequest,
  type LoopPosition,
  type ThreadHead,
  withoutLateAnswers,
} from '@caribou/core';

export interface FirstCheckpoint extends Pick<CommitRequest, 'state' | 'next' | 'source' | 'step'> {
  /** Where the loop begins after it. */
  readonly position: LoopPosition;
}

/**
 * The first checkpoint of a run that starts from `base`: its input, or, for a fork without input, `base` once more, to
 * continue where that one was left.
 */
export function firstCheckpoint(base: ThreadHead, input: StateUpdate | null): FirstCheckpoint {
  const step = (base.metadata?.step ?? -1) + 1;
  if (input !== null) {
    const state = applyUpdate(base.state, clientUpdate(base.state, withoutLateAnswers(base.state.messages, input)));
    return { state, step, next: ['model_request'], source: 'input', position: 'start' };
  }
  const { state, next } = base;
  if (base.metadata?.source === 'input') return { state, step, next, source: 'input', position: 'start' };
  return { state, step, next, source: 'fork', position: next[0] ?? 'end' };
}

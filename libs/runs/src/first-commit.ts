import {
  END_NODE,
  newId,
  type NextNode,
  type RunCommand,
  type RunEvent,
  type RunKwargs,
  type RunRecord,
  type ThreadState,
} from '@caribou/contracts';
import {
  answerInterrupts,
  applyUpdate,
  clientUpdate,
  dropLateAnswers,
  type LoopPosition,
  type OfferedRun,
  type StepTrace,
} from '@caribou/core';
import type { CommitRequest, FirstCommit, ThreadHead } from '@caribou/state';

interface FirstCheckpoint extends Pick<CommitRequest, 'state' | 'next' | 'source' | 'step'> {
  /** The node at which the loop continues. */
  readonly position: LoopPosition;
}

export type Asked = Pick<RunKwargs, 'input' | 'command'>;

/**
 * Creates the first checkpoint of a run that starts from `base`: with its input, with the answers of its command, or, for a
 * fork without either, `base` again, to continue at its next node. An input withdraws what waits for an answer.
 *
 * @param at the time of the answers, ISO 8601 UTC
 */
export function firstCheckpoint(base: ThreadHead, { input, command }: Asked, at: string): FirstCheckpoint {
  if (command !== undefined) return commandCheckpoint(base, command, at);
  if (input !== null) return inputCheckpoint(base, input);
  const { state, next } = base;
  const step = stepAfter(base);
  if (base.metadata?.source === 'input') return { state, step, next, source: 'input', position: 'start' };
  return { state, step, next, source: 'fork', position: next[0] ?? 'end' };
}

function inputCheckpoint(base: ThreadHead, input: NonNullable<Asked['input']>): FirstCheckpoint {
  const { interrupts: _withdrawn, ...before } = base.state;
  const state = applyUpdate(before, clientUpdate(before, dropLateAnswers(before.messages, input)));
  return { state, step: stepAfter(base), next: ['model_request'], source: 'input', position: 'start' };
}

function commandCheckpoint(
  base: ThreadHead,
  { answers, answered_by: by, goto, update }: RunCommand,
  at: string,
): FirstCheckpoint {
  const step = stepAfter(base);
  const updated = update === undefined ? base.state : applyUpdate(base.state, clientUpdate(base.state, update));
  const { interrupts, ...rest } = updated;
  if (goto !== undefined) {
    const next = goto === END_NODE ? [] : [goto];
    return { state: rest, step, next, source: 'loop', position: next[0] ?? 'end' };
  }
  const state: ThreadState =
    interrupts === undefined ? rest : { ...rest, interrupts: answerInterrupts(interrupts, answers ?? {}, { by, at }) };
  // The hooks before the first step have no node of their own: they run again with a run that begins.
  const isAtStart = interrupts?.open.some(({ scope }) => scope.endsWith('.before_agent')) === true;
  const { next } = base;
  return isAtStart
    ? { state, step, next, source: 'input', position: 'start' }
    : { state, step, next, source: 'loop', position: next[0] ?? 'end' };
}

const stepAfter = ({ metadata }: ThreadHead): number => (metadata?.step ?? -1) + 1;

/**
 * Creates the event that begins an attempt in the run's log; it names the streamed messages that the previous attempt
 * left incomplete.
 */
export const startOf = (
  run: Pick<RunRecord, 'run_id' | 'thread_id' | 'attempt' | 'dropped_message_ids'>,
  head: ThreadHead,
): RunEvent => ({
  kind: 'run.start',
  run_id: run.run_id,
  thread_id: run.thread_id,
  attempt: run.attempt,
  dropped_message_ids: run.dropped_message_ids,
  checkpoint_id: run.attempt > 1 ? head.checkpointId : null,
});

const NOTHING_DONE: StepTrace = { nowMs: 0, calls: [], tools: [], dropped: 0 };

/** The first commit of an offered run, for the store to write with the claim; only where input and state of the thread decide it. */
export function firstCommitOf(threadId: string, run: OfferedRun, storesTraces: boolean): FirstCommit {
  const opens = newId();
  return {
    run,
    requestOn: (head) => {
      const { input, command } = run.kwargs;
      if (input === null || command !== undefined || head.state.interrupts !== undefined) return undefined;
      const { position: _start, ...first } = inputCheckpoint(head, input);
      const begun = { run_id: run.runId, thread_id: threadId, attempt: 1, dropped_message_ids: [] };
      const trace = storesTraces ? { trace: NOTHING_DONE } : {};
      return { head, ...first, events: [startOf(begun, head)], inputCommitted: true, opens, ...trace };
    },
  };
}

/** The id for the message that is streamed after a commit; none when no model request follows. */
export const opensBefore = (next: readonly NextNode[], messageId: string): { readonly opens?: string } =>
  next.includes('model_request') ? { opens: messageId } : {};

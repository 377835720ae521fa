import type { RunEvent, StateUpdate } from '@caribou/contracts';
import {
  applyUpdate,
  clientUpdate,
  type CommitRequest,
  type LoopPosition,
  type RunStore,
  type ThreadHead,
  dropLateAnswers,
} from '@caribou/core';
import { type Claimed, finishCancelled, finishExhausted, type Held } from './run-endings.js';

interface FirstCheckpoint extends Pick<CommitRequest, 'state' | 'next' | 'source' | 'step'> {
  /** Where the loop begins after it. */
  readonly position: LoopPosition;
}

/**
 * The first checkpoint of a run that starts from `base`: its input, or, for a fork without input, `base` once more, to
 * continue where that one was left.
 */
function firstCheckpoint(base: ThreadHead, input: StateUpdate | null): FirstCheckpoint {
  const step = (base.metadata?.step ?? -1) + 1;
  if (input !== null) {
    const state = applyUpdate(base.state, clientUpdate(base.state, dropLateAnswers(base.state.messages, input)));
    return { state, step, next: ['model_request'], source: 'input', position: 'start' };
  }
  const { state, next } = base;
  if (base.metadata?.source === 'input') return { state, step, next, source: 'input', position: 'start' };
  return { state, step, next, source: 'fork', position: next[0] ?? 'end' };
}

/** The event that begins an attempt in the run's log; it names the streamed messages that the attempt before left unfinished. */
function startOf({ run, head }: Claimed): RunEvent {
  return {
    kind: 'run.start',
    run_id: run.run_id,
    thread_id: run.thread_id,
    attempt: run.attempt,
    dropped_message_ids: run.dropped_message_ids,
    checkpoint_id: run.attempt > 1 ? head.checkpointId : null,
  };
}

/**
 * Writes the attempt's start and makes sure that the input is committed, once for all attempts; answers where the loop
 * continues. @throws {FencedError} when the run has another owner
 */
export async function enterRun(
  claimed: Claimed,
  held: Held,
  store: Pick<RunStore, 'commit' | 'loadCheckpoint'>,
): Promise<LoopPosition> {
  const { run, head } = claimed;
  const { input } = run.kwargs;
  const start = startOf(claimed);
  if (run.input_committed || (input === null && run.fork_checkpoint_id === null)) {
    await held.writer.emit(start);
    return head.metadata?.source === 'input' && run.input_committed ? 'start' : (head.next[0] ?? 'end');
  }
  const forkedFrom =
    run.fork_checkpoint_id === null ? undefined : await store.loadCheckpoint(claimed.lease, run.fork_checkpoint_id);
  const { position, ...first } = firstCheckpoint(forkedFrom ?? head, input);
  const { head: committed } = await held.writer.commit((queued, after) =>
    store.commit(claimed.lease, {
      head,
      after,
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
      ...first,
      events: [...queued, start],
      inputCommitted: true,
    }),
  );
  held.head = committed;
  return position;
}

/**
 * Ends a run that was cancelled before it was claimed, or that no attempt could end. Its start is written first: who
 * watched an earlier attempt learns there which of the streamed messages is not continued.
 */
export async function endUnstarted(claimed: Claimed, held: Held): Promise<string> {
  const { cancel } = claimed.run;
  await held.writer.emit(startOf(claimed));
  return cancel === null ? finishExhausted(held) : finishCancelled(held, cancel);
}

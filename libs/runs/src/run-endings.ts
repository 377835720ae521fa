import {
  AppError,
  type CancelAction,
  customAgentOf,
  LEAD_AGENT,
  type NextNode,
  omitUndefined,
} from '@caribou/contracts';
import { applyUpdate, type LoopOutcome, type RunTimedOut, type TurnCommit } from '@caribou/core';
import type { CommitResult, FinishRequest, FinishResult } from '@caribou/state';
import type { ActiveRun } from './active-run.js';
import { cancelPendingCalls } from './cancel-pending-calls.js';
import { startOf } from './first-commit.js';
import { commitRequest, noteBudget, noteCommit, stepOf, timeTurn } from './run-commits.js';

/**
 * Ends a run whose loop has ended: writes the last turn, the status and the terminal event in one script. While messages or a
 * change of the goal wait for a run that would succeed, the last turn is committed instead; a model request follows for messages,
 * the end of the loop for the goal alone.
 *
 * @returns the status, 'continues' when the run does, 'yielded' when it does but the process drains
 */
export async function finishOutcome(
  run: ActiveRun,
  outcome: Exclude<LoopOutcome, { kind: 'yielded' }>,
): Promise<string> {
  run.keeper.signal.throwIfAborted();
  const finish = finishRequestOf(run, outcome);
  const result = await finishOrContinue(run, outcome.last, finish);
  if ('head' in result) return continueRun(run, result);
  noteBudget(run, result.budget);
  run.after = result;
  if (finish.remember !== undefined) run.ports.onMemoryQueued?.(run.claimed.lease);
  return finish.status;
}

/** The request that ends the run, without its last turn: as interrupted when it asks somebody. */
function finishRequestOf(run: ActiveRun, outcome: Exclude<LoopOutcome, { kind: 'yielded' }>): FinishRequest {
  const why = omitUndefined({ stopReason: outcome.stopReason });
  if (outcome.kind === 'failed') {
    const { error } = outcome;
    return { ...why, status: 'error', error, events: [{ kind: 'error', ...error }] };
  }
  const { next, state } = outcome.last;
  if (next.length > 0 && (state.interrupts?.open.length ?? 0) > 0) return { ...why, status: 'interrupted', events: [] };
  return { ...why, status: 'success', events: [], ...(run.isMemorable ? memoryRequest(run) : {}) };
}

/** Finishes the run with its last turn; commits the turn when something waits for the run. */
function finishOrContinue(
  run: ActiveRun,
  last: TurnCommit,
  finish: FinishRequest,
): Promise<FinishResult | CommitResult> {
  const { store } = run.ports;
  const { lease } = run.claimed;
  let next: readonly NextNode[] | undefined;
  return timeTurn(run, last, () =>
    run.writer.commit(async (queued, after, shown): Promise<FinishResult | CommitResult> => {
      if (next === undefined) {
        const finished = await store.finish(lease, {
          ...finish,
          ...stepOf(run, last),
          shown,
          commit: commitRequest(run, last, queued),
        });
        if (finished.steered === undefined) return finished;
        // A repeated commit is recognized by its number, but a repeated finish would not be.
        next = finished.steered === 'messages' ? ['model_request'] : [];
      }
      const continued = { ...last, next };
      return store.commit(lease, {
        ...commitRequest(run, continued, queued),
        ...stepOf(run, continued),
        after,
      });
    }),
  );
}

/** @throws the reason when the run was cancelled or lost meanwhile */
function continueRun(run: ActiveRun, result: CommitResult): 'continues' | 'yielded' {
  noteCommit(run, result);
  if (result.cancel !== null) run.keeper.cancel(result.cancel);
  run.keeper.signal.throwIfAborted();
  return run.isDraining() ? 'yielded' : 'continues';
}

/** Memory does not learn from temporary threads, of which nothing is stored permanently. */
function memoryRequest({ claimed }: ActiveRun): Pick<FinishRequest, 'remember'> {
  const { context, temporary } = claimed.run.kwargs;
  return temporary ? {} : { remember: { agent: customAgentOf(context) ?? LEAD_AGENT } };
}

/**
 * Ends a run that was cancelled before it was claimed, or that no attempt could finish. Its start is written first, so
 * that watchers of an earlier attempt learn which of the streamed messages are not continued.
 */
export async function endUnstarted(run: ActiveRun): Promise<string> {
  const { cancel } = run.claimed.run;
  await run.writer.emit(startOf(run.claimed.run, run.claimed.head));
  return cancel === null ? finishExhausted(run) : finishCancelled(run, cancel);
}

/**
 * Ends a cancelled run: at its last checkpoint with the agent's additions (interrupt), or by resetting the head to the
 * run's base (rollback).
 */
export async function finishCancelled(run: ActiveRun, action: CancelAction): Promise<string> {
  const rollback = action === 'rollback';
  const { state, next, metadata } = run.head;
  const { run: record, lease } = run.claimed;
  const { store, afterCancel } = run.ports;
  await run.writer.waitForAppends();
  const [result] = await Promise.all([afterCancel?.({ state, record, logger: run.logger }), endExecutions(run)]);
  const { update, calls = [], events = [] } = result ?? {};
  run.after = await run.writer.end((queued, shown) => {
    const ending = { status: 'interrupted', rollback, shown } as const;
    if (update === undefined && calls.length === 0)
      return store.finish(lease, { ...ending, ...stepOf(run), events: [...queued, ...events] });
    const turn: TurnCommit = {
      state: applyUpdate(state, update ?? {}),
      next,
      events,
      step: (metadata?.step ?? 0) + 1,
      ...(calls.length === 0 ? {} : { usage: { turns: 0, calls } }),
    };
    return store.finish(lease, {
      ...ending,
      ...stepOf(run, turn),
      commit: commitRequest(run, turn, queued),
      events: [],
    });
  });
  return 'cancelled';
}

/** Ends a run that exceeded its time limit, at its last checkpoint. */
export async function finishTimedOut(run: ActiveRun, reason: RunTimedOut): Promise<string> {
  const error = { name: 'TimedOut', message: reason.message };
  await finish(run, { status: 'timeout', stopReason: 'timed_out', error, events: [{ kind: 'error', ...error }] });
  return 'timeout';
}

/** Ends a run that no attempt could bring to its next checkpoint, with a dead letter that a sweep copies to the bus. */
async function finishExhausted(run: ActiveRun): Promise<string> {
  const { lease, run: record } = run.claimed;
  const error = {
    name: 'AttemptsExhausted',
    message: `the run was started ${record.attempt} times and never reached its next checkpoint`,
  };
  const entry = {
    user_id: lease.userId,
    thread_id: lease.threadId,
    run_id: record.run_id,
    attempt: record.attempt,
    error,
  };
  const deadLetter = { id: record.run_id, entry };
  await finish(run, { status: 'error', error, deadLetter, events: [{ kind: 'error', ...error }] });
  return 'exhausted';
}

/**
 * Converts failures of hooks, tools and assembly for clients: the text of an expected error is shown, that of a defect
 * is not.
 */
export async function finishFailed(run: ActiveRun, cause: unknown): Promise<string> {
  const shown = cause instanceof AppError && cause.expected;
  if (!shown) run.logger.error({ event: 'run.failed', outcome: 'error', error: cause }, 'run failed by a defect');
  const error = shown
    ? { name: cause.name, message: cause.message }
    : { name: 'InternalError', message: 'internal error' };
  await finish(run, { status: 'error', error, events: [{ kind: 'error', ...error }] });
  return 'error';
}

/** Cancels executions of the run's open calls while it still owns its thread. */
async function endExecutions({ head, claimed: { lease }, ports: { sandbox }, logger }: ActiveRun): Promise<void> {
  if (sandbox !== undefined) await cancelPendingCalls({ state: head.state, lease, sandbox, logger });
}

/** Ends the run at its last checkpoint; events in the queue are written before those of the ending. */
async function finish(run: ActiveRun, request: FinishRequest): Promise<void> {
  await endExecutions(run);
  run.after = await run.writer.end((queued, shown) =>
    run.ports.store.finish(run.claimed.lease, {
      ...request,
      ...stepOf(run),
      shown,
      events: [...queued, ...request.events],
    }),
  );
}

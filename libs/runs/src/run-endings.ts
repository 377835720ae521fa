import {
  AppError,
  type CancelAction,
  customAgentOf,
  LEAD_AGENT,
  type RunEvent,
  type RunRecord,
  type StateUpdate,
  type ThreadState,
} from '@caribou/contracts';
import {
  applyUpdate,
  type CallUsage,
  type ClaimResult,
  type CommitRequest,
  type FinishRequest,
  type Logger,
  type LoopOutcome,
  type RunStore,
  type RunTimedOut,
  type SandboxPort,
  type ThreadHead,
  type ThreadKey,
  type TurnCommit,
} from '@caribou/core';
import type { ChainRecorder } from '@caribou/middleware';
import type { EventWriter } from './event-writer.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { endOpenCalls } from './open-calls.js';

export type Claimed = Extract<ClaimResult, { kind: 'run' }>;

/** What an agent still has to say of a run that was cancelled. */
export interface LastWords {
  /** Of the thread; not heard when the run is rolled back. */
  readonly update?: StateUpdate;
  /** Model calls that were made for the run and are in no commit of it. */
  readonly calls?: readonly CallUsage[];
  /** Told before the end; not when the run is rolled back. */
  readonly events?: readonly RunEvent[];
}

/** Asked once the work of the run has stopped; it is not cancelled itself, so it must end by itself soon. */
export type AfterCancel = (run: {
  readonly state: ThreadState;
  readonly record: RunRecord;
  readonly logger: Logger;
}) => Promise<LastWords>;

/** A run while this process executes it. */
export interface Held {
  readonly claimed: Claimed;
  readonly store: RunStore;
  readonly keeper: LeaseKeeper;
  readonly writer: EventWriter;
  readonly logger: Logger;
  readonly recorder: ChainRecorder;
  readonly isDraining: () => boolean;
  readonly afterCancel: AfterCancel | undefined;
  /** Where the run's tool calls are executed. */
  readonly sandbox: Pick<SandboxPort, 'cancel'> | undefined;
  /** Told once the end of a run that memory may learn from is written. Neither waits nor throws. */
  readonly onRemembered: ((thread: ThreadKey) => void) | undefined;
  /** When the turn now under way began, on the monotonic clock. */
  turnStartMs: number;
  /** The head after the last commit. */
  head: ThreadHead;
}

/** A turn as the store commits it, with the queued events before its own. */
export function commitRequest(held: Held, turn: TurnCommit, queued: readonly RunEvent[]): CommitRequest {
  return {
    head: held.head,
    state: turn.state,
    next: turn.next,
    source: 'loop',
    step: turn.step,
    events: [...queued, ...turn.events],
    ...(turn.usage === undefined ? {} : { usage: turn.usage }),
  };
}

/** Ends a run whose loop came to its end: the last turn, the status and the terminal event in one script. */
export async function finishOutcome(held: Held, outcome: Exclude<LoopOutcome, { kind: 'yielded' }>): Promise<string> {
  held.keeper.signal.throwIfAborted();
  const error = outcome.kind === 'failed' ? outcome.error : undefined;
  const { stopReason } = outcome;
  const remembered = outcome.kind === 'finished' && outcome.remember === true ? rememberedAs(held) : {};
  await held.writer.commit((queued) =>
    held.store.finish(held.claimed.lease, {
      status: error === undefined ? 'success' : 'error',
      commit: commitRequest(held, outcome.last, queued),
      ...(stopReason === undefined ? {} : { stopReason }),
      ...remembered,
      ...(error === undefined ? { events: [] } : { error, events: [{ kind: 'error', ...error }] }),
    }),
  );
  if (remembered.remember !== undefined) held.onRemembered?.(held.claimed.lease);
  return error === undefined ? 'success' : 'error';
}

/** Nothing of a temporary thread is kept, so there is nothing to remember. */
function rememberedAs({ claimed }: Held): Pick<FinishRequest, 'remember'> {
  const { context, temporary } = claimed.run.kwargs;
  return temporary ? {} : { remember: { agent: customAgentOf(context) ?? LEAD_AGENT } };
}

/**
 * Carries a cancel out: the last checkpoint stays, with what the agent adds to it (interrupt), or the head goes back to
 * the run's base (rollback).
 */
export async function finishCancelled(held: Held, action: CancelAction): Promise<string> {
  const rollback = action === 'rollback';
  const { state, next, metadata } = held.head;
  const record = held.claimed.run;
  await held.writer.settled();
  const [lastWords] = await Promise.all([
    held.afterCancel?.({ state, record, logger: held.logger }),
    endExecutions(held),
  ]);
  const { update, calls = [], events = [] } = lastWords ?? {};
  await held.writer.end((queued) => {
    const ending = { status: 'interrupted', rollback } as const;
    if (update === undefined && calls.length === 0)
      return held.store.finish(held.claimed.lease, { ...ending, events: [...queued, ...events] });
    const turn: TurnCommit = {
      ...{ state: applyUpdate(state, update ?? {}), next, events, step: (metadata?.step ?? 0) + 1 },
      ...(calls.length === 0 ? {} : { usage: { turns: 0, calls } }),
    };
    return held.store.finish(held.claimed.lease, { ...ending, commit: commitRequest(held, turn, queued), events: [] });
  });
  return 'cancelled';
}

/** Ends a run that took longer than it may, where its last checkpoint stands. */
export async function finishTimedOut(held: Held, reason: RunTimedOut): Promise<string> {
  const error = { name: 'TimedOut', message: reason.message };
  await finish(held, { status: 'timeout', stopReason: 'timed_out', error, events: [{ kind: 'error', ...error }] });
  return 'timeout';
}

/** Ends a run that no attempt could bring to its next checkpoint, with a dead letter that a sweep copies to the bus. */
export async function finishExhausted(held: Held): Promise<string> {
  const { lease, run } = held.claimed;
  const error = {
    name: 'AttemptsExhausted',
    message: `the run was started ${run.attempt} times and never reached its next checkpoint`,
  };
  const entry = {
    ...{ user_id: lease.userId, thread_id: lease.threadId, run_id: run.run_id },
    ...{ attempt: run.attempt, error },
  };
  const deadLetter = { id: run.run_id, entry };
  await finish(held, { status: 'error', error, deadLetter, events: [{ kind: 'error', ...error }] });
  return 'exhausted';
}

/** Wall for failures of hooks, tools and assembly: an expected error's text is shown, a defect's is not. */
export async function finishFailed(held: Held, cause: unknown): Promise<string> {
  const shown = cause instanceof AppError && cause.expected;
  if (!shown) held.logger.error({ event: 'run.failed', outcome: 'error', error: cause }, 'run failed by a defect');
  const error = shown
    ? { name: cause.name, message: cause.message }
    : { name: 'InternalError', message: 'internal error' };
  await finish(held, { status: 'error', error, events: [{ kind: 'error', ...error }] });
  return 'error';
}

/** While the run still owns its thread, what its open calls execute is ended. */
async function endExecutions({ head: { state }, claimed: { lease }, sandbox, logger }: Held): Promise<void> {
  if (sandbox !== undefined) await endOpenCalls({ state, lease, sandbox, logger });
}

/** Ends the run where its last checkpoint stands; events still queued go before the ending's own. */
async function finish(held: Held, request: FinishRequest): Promise<void> {
  await endExecutions(held);
  await held.writer.end((queued) =>
    held.store.finish(held.claimed.lease, { ...request, events: [...queued, ...request.events] }),
  );
}

import {
  type HumanMessage,
  newId,
  type RunEvent,
  type RunKwargs,
  type RunRecord,
  omitUndefined,
} from '@caribou/contracts';
import { type LoopPosition, type StepTrace, type TurnCommit, withGoalOf } from '@caribou/core';
import type { BudgetState, CommitRequest, CommitResult } from '@caribou/state';
import type { ActiveRun } from './active-run.js';
import { type Asked, firstCheckpoint, opensBefore, startOf } from './first-commit.js';
import { countTurn } from './run-metrics.js';

/** Takes over the first commit that the claim has written, if it has: publishes its events. */
export async function adoptFirstCommit(active: ActiveRun): Promise<void> {
  const { committed } = active.claimed;
  if (committed === undefined) return;
  await active.writer.commit(() => Promise.resolve(committed));
  noteCommit(active, committed);
}

/**
 * Writes the attempt's start and ensures that the input is committed, once for all attempts; returns the node at which
 * the loop continues. @throws {FencedError} when the run has another owner
 */
export async function commitInput(active: ActiveRun): Promise<LoopPosition> {
  const { claimed, writer } = active;
  const { run, head } = claimed;
  if (claimed.committed !== undefined) return 'start';
  const { store } = active.ports;
  const start = startOf(run, head);
  if (run.input_committed || !hasInput(run)) {
    await writer.emit(start);
    const payer = { userId: run.user_id, apiKey: run.api_key ?? undefined };
    if (await store.isBudgetSpent(payer)) noteBudget(active, 'spent');
    return head.metadata?.source === 'input' && run.input_committed ? 'start' : (head.next[0] ?? 'end');
  }
  return commitFirst(active, start);
}

async function commitFirst(active: ActiveRun, start: RunEvent): Promise<LoopPosition> {
  const { run, head, lease } = active.claimed;
  const { store, clock, beforeWithdrawal } = active.ports;
  const { kwargs, fork_checkpoint_id: fork } = run;
  const forkedFrom = fork === null ? undefined : await store.loadCheckpoint(lease, fork);
  if (kwargs.input !== null && head.state.interrupts !== undefined)
    await beforeWithdrawal?.({ userId: run.user_id, state: head.state });
  const at = new Date(clock.now()).toISOString();
  const left = kwargs.input === null ? [] : leftMessages(active);
  const base = forkedFrom === undefined ? head : { ...forkedFrom, state: withGoalOf(head.state, forkedFrom.state) };
  const { position, ...first } = firstCheckpoint(base, withLeft(kwargs, left), at);
  const messageId = newId();
  const sentMs = clock.monotonicMs();
  const committed = await active.writer.commit((queued, after) =>
    store.commit(lease, {
      head,
      after,
      ...omitUndefined({ forkedFrom }),
      ...first,
      events: [...queued, start],
      inputCommitted: true,
      ...opensBefore(first.next, messageId),
      ...(left.length === 0 ? {} : { joined: left.length }),
      ...stepOf(active),
    }),
  );
  active.recording.steps?.committed(clock.monotonicMs() - sentMs);
  noteCommit(active, committed);
  return position;
}

/**
 * Commits a turn of the loop, or `otherwise` when a client has asked for something else; 'yield' when the process drains.
 *
 * @throws the reason when the run was cancelled, exceeded its time limit or is lost
 */
export async function commitTurn(active: ActiveRun, turn: TurnCommit, otherwise?: TurnCommit): Promise<Committed> {
  const { claimed, keeper, writer, ports } = active;
  keeper.signal.throwIfAborted();
  let isOvertaken = false;
  const messageId = newId();
  const result = await timeTurn(active, turn, () =>
    writer.commit(async (queued, after): Promise<CommitResult> => {
      const requestOf = (given: TurnCommit) => ({
        ...commitRequest(active, given, queued),
        ...stepOf(active, given),
        ...opensBefore(given.next, messageId),
        after,
      });
      if (otherwise === undefined) return ports.store.commit(claimed.lease, requestOf(turn));
      if (!isOvertaken) {
        const committed = await ports.store.commitUnlessOvertaken(claimed.lease, requestOf(turn));
        if (committed !== undefined) return committed;
        // A repeated commit is recognized by its number, so what is repeated must be the same one.
        isOvertaken = true;
      }
      return ports.store.commit(claimed.lease, requestOf(otherwise));
    }),
  );
  noteCommit(active, result);
  if (result.cancel !== null) keeper.cancel(result.cancel);
  keeper.signal.throwIfAborted();
  if (active.isDraining()) return 'yield';
  return isOvertaken ? 'overtaken' : 'continue';
}

type Committed = 'continue' | 'yield' | 'overtaken';

/** Whether a run adds anything to the thread before its first step. */
const hasInput = ({ kwargs: { input, command }, fork_checkpoint_id: fork }: RunRecord): boolean =>
  input !== null || command !== undefined || fork !== null;

/** Takes over what a commit has returned. */
export function noteCommit(active: ActiveRun, { head, budget, waiting = [], pause, goalChange }: CommitResult): void {
  active.head = head;
  active.recording.steps?.basedOn(head.state.messages);
  active.waiting = waiting;
  active.goalChange = goalChange;
  active.isPaused ||= pause === true;
  noteBudget(active, budget);
}

/** Messages that were given to an earlier run of the thread, which ended before they joined it. They are the oldest. */
function leftMessages({ waiting, claimed }: ActiveRun): readonly HumanMessage[] {
  const own = waiting.findIndex(({ runId }) => runId === claimed.run.run_id);
  return waiting.slice(0, own === -1 ? waiting.length : own).map(({ message }) => message);
}

/** The input with those messages before its own, but after its answers to open calls, which must follow the calls. */
function withLeft({ input, command }: RunKwargs, left: readonly HumanMessage[]): Asked {
  const asked = { input, ...omitUndefined({ command }) };
  if (input === null || left.length === 0) return asked;
  const { messages = [] } = input;
  const answers = messages.filter(({ type }) => type === 'tool');
  const others = messages.filter(({ type }) => type !== 'tool');
  return { ...asked, input: { ...input, messages: [...answers, ...left, ...others] } };
}

/** Records what a commit did to the budgets of the user; the loop makes no further model call once one is used up. */
export function noteBudget(active: ActiveRun, budget: BudgetState): void {
  if (budget === 'fine' || (budget === 'spent' && active.isBudgetSpent)) return;
  active.isBudgetSpent ||= budget === 'spent';
  active.ports.metrics.budgetReached(budget === 'spent' ? 'spent' : 'warned');
  const text = budget === 'spent' ? 'used up: the run makes no further model call' : 'nearly used up';
  active.logger.warn({ event: 'usage.budget' }, `a budget of today is ${text}`);
}

/** Converts a turn to a commit, with the queued events before its own; without what was done for it, see `stepOf`. */
export function commitRequest(active: ActiveRun, turn: TurnCommit, queued: readonly RunEvent[]): CommitRequest {
  return {
    head: active.head,
    state: turn.state,
    next: turn.next,
    source: 'loop',
    step: turn.step,
    events: [...queued, ...turn.events],
    ...omitUndefined({ usage: turn.usage, joined: turn.joined, goalChange: turn.goalChange }),
  };
}

/** What was done since the last commit, for the run's trace. */
export const stepOf = (
  { recording: { steps } }: Pick<ActiveRun, 'recording'>,
  turn?: Pick<TurnCommit, 'state' | 'usage'>,
): { readonly trace?: StepTrace } =>
  steps === undefined ? {} : { trace: steps.step(turn?.usage?.calls, turn?.state.messages) };

/** Counts a turn and the times of turn and commit once its commit has succeeded; the next turn begins then. */
export async function timeTurn<T>(active: ActiveRun, turn: TurnCommit, commit: () => Promise<T>): Promise<T> {
  const { clock, metrics } = active.ports;
  const sentMs = clock.monotonicMs();
  const result = await commit();
  const nowMs = clock.monotonicMs();
  active.recording.steps?.committed(nowMs - sentMs);
  active.turnsTaken += turn.usage?.turns ?? 0;
  countTurn(metrics, turn, { turnMs: nowMs - active.turnStartMs, commitMs: nowMs - sentMs });
  active.turnStartMs = nowMs;
  return result;
}

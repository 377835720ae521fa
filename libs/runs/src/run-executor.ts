import { FencedError, type RunKwargs } from '@caribou/contracts';
import {
  type LoopHost,
  type LoopOutcome,
  type LoopPosition,
  type OfferedRun,
  RunCancelled,
  type RunContext,
  RunDraining,
  RunTimedOut,
  type ThreadKey,
} from '@caribou/core';
import type { ClaimResult, ThreadHead } from '@caribou/state';
import type { ActiveRun, Claimed } from './active-run.js';
import { claimRun } from './claim-run.js';
import { firstCommitOf } from './first-commit.js';
import { isStoreAway, releaseForTakeover } from './release-for-takeover.js';
import { adoptFirstCommit, commitInput, commitTurn } from './run-commits.js';
import { contextOf } from './run-context.js';
import { endUnstarted, finishCancelled, finishFailed, finishOutcome, finishTimedOut } from './run-endings.js';
import { type StartedRun, type StartPorts, startRun } from './start-run.js';
import { countBytes } from './run-metrics.js';
import { endUnreadable } from './unreadable-run.js';

export interface AgentInput {
  readonly host: LoopHost;
  readonly run: RunContext;
  readonly claimed: Claimed;
  readonly head: ThreadHead;
  readonly position: LoopPosition;
  /** Model turns of the run that are committed. */
  readonly turnsTaken: number;
  /** What `prefetch` got for the run: the same object. */
  readonly early: EarlyRun;
}

/** What is known of a run when the loop may begin to read for it. */
export interface EarlyRun extends ThreadKey {
  readonly context: RunKwargs['context'];
  /** Whether its input is committed: another attempt has begun it. */
  readonly isResumed: boolean;
}

/** Runs the loop of one agent; each app that executes runs provides its own. */
export interface AgentLoop {
  (input: AgentInput): Promise<LoopOutcome>;
  /**
   * Begins to read what the loop will need, while the run is claimed or its input written. It writes and emits nothing, never throws,
   * and does nothing when it is called again for an object. A run that was offered may not be claimed after all.
   */
  readonly prefetch?: (early: EarlyRun) => void;
}

export interface RunExecutorPorts extends StartPorts {
  readonly agent: AgentLoop;
}

/** A run that was offered right after its admission. */
export interface TakenOffer {
  /** What the gateway knows of it; absent when that is not enough to begin it, or too much for a message. */
  readonly run?: OfferedRun | undefined;
  /** Called when the store has answered the claim, before the run is executed. */
  readonly onClaimed: (claimed: ClaimResult) => void;
}

/**
 * The result for the holder of the slot. `more`: a run of the thread, or of its user, may wait for it. `queueIsEmpty`: no other
 * thread waited for a slot when the run ended.
 */
export type Handling =
  | { readonly kind: 'ack'; readonly more: boolean; readonly queueIsEmpty: boolean }
  | { readonly kind: 'busy' }
  | { readonly kind: 'capped' }
  | { readonly kind: 'handed_over' }
  | { readonly kind: 'lost' };

/**
 * Executes one run from claim to end. Stages: claimed → input committed → loop → finished | handed over | lost.
 *
 * R1 Everything is written by the store's fenced scripts; the lease is renewed from claim to finish.
 * R2 The input is committed once, as the run's first checkpoint, with the claim where the offer said enough; a takeover continues from the last checkpoint's `next`.
 * R3 Commit before publish, except for text of a message that the log knows to be open (EventWriter W3): a takeover drops it.
 * R4 A lost run stops locally: no event, no cancel to executors, no message to NATS.
 * R5 When Redis does not answer, the outcome of a write is unknown: it is repeated until the local deadline, and takes
 *    effect once. Then the run is handed over and resumes from its last commit, without counting an attempt.
 * R6 Every other failure ends the run with a status and exactly one terminal event.
 */
export class RunExecutor {
  constructor(private readonly ports: RunExecutorPorts) {}

  /**
   * Claims the thread's next run and executes it; never rejects for a failure of the run itself.
   *
   * @param offer for a thread that was offered
   */
  async handle(thread: ThreadKey, offer?: TakenOffer): Promise<Handling> {
    const { claimed, sentMs, offered } = await this.claim(thread, offer);
    offer?.onClaimed(claimed);
    if (claimed.kind === 'idle' || claimed.kind === 'not_begun')
      return { kind: 'ack', more: false, queueIsEmpty: false };
    if (claimed.kind === 'busy' || claimed.kind === 'capped') return { kind: claimed.kind };
    if (claimed.kind === 'unreadable') return { kind: 'ack', ...(await endUnreadable(claimed, this.ports)) };
    const run = startRun(this.ports, claimed, sentMs);
    try {
      return await this.execute(run, offered?.runId === claimed.lease.runId ? offered : earlyOf(claimed));
    } catch (error) {
      return await this.handleLostRun(run, error);
    } finally {
      run.release();
    }
  }

  /** Sends the claim, and with it the first reads of an offered run: they see what was written before it was admitted. */
  private async claim(thread: ThreadKey, offer: TakenOffer | undefined) {
    const { agent, storesTraces = false } = this.ports;
    const first = offer?.run && firstCommitOf(thread.threadId, offer.run, storesTraces);
    const claiming = claimRun(this.ports, thread, { isOffered: offer !== undefined, first });
    const offered = offer?.run && offeredEarly(thread, offer.run);
    if (offered !== undefined) agent.prefetch?.(offered);
    return { ...(await claiming), offered };
  }

  private async execute(run: StartedRun, early: EarlyRun): Promise<Handling> {
    const { metrics } = this.ports;
    const outcome = await this.runToCompletion(run, early);
    const durationMs = Math.round(run.ageMs());
    run.logger.info({ event: 'run.end', outcome, durationMs, ...run.recording.end(outcome) }, `run ${outcome}`);
    metrics.runEnded(outcome);
    countBytes(metrics, run.writer.written);
    if (outcome === 'handed_over') return { kind: 'handed_over' };
    const { more, queueIsEmpty } = run.after;
    return { kind: 'ack', more, queueIsEmpty };
  }

  /**
   * Executes a claimed run until its finish script; returns how the run ended.
   *
   * @throws only when the run is lost or Redis is unavailable
   */
  private async runToCompletion(run: ActiveRun, early: EarlyRun): Promise<string> {
    const { claimed } = run;
    await adoptFirstCommit(run);
    if (claimed.run.cancel !== null || claimed.exhausted) return endUnstarted(run);
    try {
      const context = contextOf(run);
      this.ports.agent.prefetch?.(early);
      if (claimed.filesWith !== undefined) await this.ports.settleFiles?.(claimed.lease, claimed.filesWith);
      let position = await commitInput(run);
      const host: LoopHost = {
        commit: (turn, otherwise) => commitTurn(run, turn, otherwise),
        isBudgetSpent: () => run.isBudgetSpent,
        isPaused: () => run.isPaused,
        waiting: () => run.waiting.map(({ message }) => message),
        goalChange: () => run.goalChange,
      };
      for (;;) {
        const { head, turnsTaken } = run;
        const outcome = await this.ports.agent({ host, run: context, claimed, head, position, turnsTaken, early });
        const ended = outcome.kind === 'yielded' ? 'yielded' : await finishOutcome(run, outcome);
        if (ended === 'yielded') {
          await releaseForTakeover(run, 'draining');
          return 'handed_over';
        }
        if (ended !== 'continues') return ended;
        position = run.head.next[0] ?? 'end';
      }
    } catch (error) {
      return endAfterError(run, error);
    }
  }

  /**
   * Handles a run that could not be ended here (R4, R5). A defect counts as an attempt: the lease expires, and a run
   * that no attempt can end is ended as exhausted.
   */
  private async handleLostRun(run: StartedRun, error: unknown): Promise<Handling> {
    const kind = await releaseOrLose(run, error);
    run.logger.warn({ event: 'run.end', outcome: kind, ...run.recording.end(kind, error), error }, `run ${kind}`);
    if (kind === 'lost') {
      this.ports.metrics.fenced();
      void noteLost(run, error);
    }
    return { kind };
  }
}

const offeredEarly = ({ userId, threadId }: ThreadKey, { runId, kwargs: { context } }: OfferedRun) => ({
  ...{ userId, threadId, runId, context },
  isResumed: false,
});

const earlyOf = ({ lease: { userId, threadId }, run: { kwargs, input_committed: isResumed } }: Claimed): EarlyRun => ({
  ...{ userId, threadId, isResumed },
  context: kwargs.context,
});

/** Notes in the run's trace that this process has lost it; nobody waits for it, and without it the trace lacks a line. */
async function noteLost({ claimed: { lease }, ports: { store }, logger }: StartedRun, error: unknown): Promise<void> {
  try {
    await store.noteFence(lease, error instanceof FencedError ? 'write_refused' : 'lease_lost');
  } catch (failure) {
    logger.debug({ event: 'trace.fence', error: failure }, 'the loss of a run could not be noted in its trace');
  }
}

/** Ends a run whose loop failed or was stopped (R6). @throws the reason when the run is lost or Redis is unavailable */
async function endAfterError(run: ActiveRun, error: unknown): Promise<string> {
  const { keeper } = run;
  const reason: unknown = keeper.signal.aborted ? keeper.signal.reason : error;
  if (keeper.lost || reason instanceof FencedError || isStoreAway(reason)) throw reason;
  if (reason instanceof RunTimedOut) return finishTimedOut(run, reason);
  if (reason instanceof RunCancelled) return finishCancelled(run, reason.action);
  if (!(reason instanceof RunDraining)) return finishFailed(run, reason);
  // When one call throws it, the other calls of its step are ended too.
  keeper.fail(reason);
  await releaseForTakeover(run, 'draining');
  return 'handed_over';
}

async function releaseOrLose(run: ActiveRun, error: unknown): Promise<'handed_over' | 'lost'> {
  if (run.keeper.lost || !isStoreAway(error)) return 'lost';
  try {
    await releaseForTakeover(run, 'store_unavailable');
    return 'handed_over';
  } catch (failure) {
    if (failure instanceof FencedError || isStoreAway(failure)) return 'lost';
    throw failure;
  }
}

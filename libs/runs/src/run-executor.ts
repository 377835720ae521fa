import { FencedError, newId } from '@caribou/contracts';
import { parseTraceparent, type Tracing } from '@caribou/observability';
import {
  type Clock,
  type Logger,
  type LoopHost,
  type LoopOutcome,
  type LoopPosition,
  RunCancelled,
  RunDraining,
  type RunContext,
  type RunStore,
  RunTimedOut,
  type SandboxPort,
  type ThreadHead,
  type ThreadKey,
  type TurnCommit,
} from '@caribou/core';
import {
  type AfterCancel,
  type Claimed,
  commitRequest,
  type Held,
  finishCancelled,
  finishFailed,
  finishOutcome,
  finishTimedOut,
} from './run-endings.js';
import { type EventPublisher, EventWriter } from './event-writer.js';
import { type LeaseClocks, LeaseKeeper } from './lease-keeper.js';
import { endUnstarted, enterRun } from './run-entry.js';
import { contextOf } from './run-context.js';
import { countTurn, type RunMetrics } from './run-metrics.js';
import { handOver, isStoreAway } from './hand-over.js';
import { limitTime } from './limit-time.js';
import { retryWrites } from './retry-writes.js';
import { endUnreadable } from './unreadable-run.js';
import { recordRun } from './run-recording.js';
import type { RunRegistry } from './run-registry.js';

/** Runs the loop of one agent; each app that executes runs builds its own. */
export type AgentLoop = (input: {
  readonly host: LoopHost;
  readonly run: RunContext;
  readonly claimed: Claimed;
  readonly head: ThreadHead;
  readonly position: LoopPosition;
}) => Promise<LoopOutcome>;

export interface RunExecutorPorts {
  readonly store: RunStore;
  readonly publisher: EventPublisher;
  readonly registry: RunRegistry;
  readonly agent: AgentLoop;
  readonly afterCancel?: AfterCancel;
  /** Where the agent's tools are executed. */
  readonly sandbox?: Pick<SandboxPort, 'cancel'>;
  /** See `Held`. */
  readonly onRemembered?: (thread: ThreadKey) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clocks: LeaseClocks;
  readonly metrics: RunMetrics;
  readonly tracing: Tracing;
}

/** What the holder of the wake must do: acknowledge it, put it back, or send nothing at all. */
export type Handling =
  | { readonly kind: 'ack' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'handed_over' }
  | { readonly kind: 'lost' };

/**
 * One run from claim to end. Stages: claimed → input committed → loop → finished | handed over | lost.
 *
 * R1 Nothing is written but through the store's fenced scripts; the lease is renewed from claim to finish.
 * R2 The input is committed once, as the run's first checkpoint; a takeover goes on from the last checkpoint's `next`.
 * R3 Committed first, told after: the writer publishes only what a script appended.
 * R4 A lost run stops locally: no event, no cancel to executors, nothing to NATS.
 * R5 When Redis does not answer, the outcome of a write is unknown: it is repeated until the lease deadline, and takes
 *    effect once. Then the run is handed over and resumes from what is durable, without counting an attempt.
 * R6 Every other failure ends the run with a status and exactly one terminal event.
 */
export class RunExecutor {
  constructor(private readonly ports: RunExecutorPorts) {}

  /** Claims what the thread has to run and executes it; never rejects for a failure of the run itself. */
  async handle(thread: ThreadKey, onRenewed: () => void): Promise<Handling> {
    const claimSentMs = this.ports.clock.monotonicMs();
    const claimed = await this.ports.store.claim(thread, newId());
    if (claimed.kind === 'idle') return { kind: 'ack' };
    if (claimed.kind === 'busy') return { kind: 'busy' };
    if (claimed.kind === 'unreadable') {
      await endUnreadable(claimed, this.ports);
      return { kind: 'ack' };
    }
    return this.execute(claimed, claimSentMs, onRenewed);
  }

  private async execute(claimed: Claimed, claimSentMs: number, onRenewed: () => void): Promise<Handling> {
    const { store, clock, clocks, publisher, registry, logger: root } = this.ports;
    const { lease, run } = claimed;
    const logger = root.child({
      userId: lease.userId,
      threadId: lease.threadId,
      runId: lease.runId,
      attempt: run.attempt,
      traceId: parseTraceparent(run.traceparent ?? undefined)?.traceId,
    });
    if (run.attempt > 1) this.ports.metrics.takenOver();
    const recording = recordRun(this.ports, run, logger);
    const startedMs = clock.monotonicMs();
    const renew = () => store.renew(lease);
    const keeper = new LeaseKeeper({ renew, takenMs: claimSentMs, clocks, clock, logger, onRenewed });
    const writer = new EventWriter(store, lease, publisher, {
      onFailure: (error) => this.onWriteFailure(keeper, error),
      lastSeq: run.last_seq,
      retry: retryWrites({ keeper, clock }),
    });
    const held = registry.add(lease.runId, keeper);
    const timeLimit = limitTime(claimed, keeper, clock);
    try {
      const outcome = await this.drive(claimed, {
        head: claimed.head,
        turnStartMs: startedMs,
        claimed,
        store,
        keeper,
        writer,
        logger,
        recorder: recording.recorder,
        isDraining: () => held.draining,
        afterCancel: this.ports.afterCancel,
        sandbox: this.ports.sandbox,
        onRemembered: this.ports.onRemembered,
      });
      logger.info(
        { event: 'run.end', outcome, durationMs: Math.round(clock.monotonicMs() - startedMs) },
        `run ${outcome}`,
      );
      recording.end(outcome);
      this.ports.metrics.runEnded(outcome);
      return { kind: outcome === 'handed_over' ? 'handed_over' : 'ack' };
    } catch (error) {
      const handling = await this.giveUp(claimed, keeper, error);
      recording.end(handling.kind, error);
      logger.warn({ event: 'run.end', outcome: handling.kind, error }, `run ${handling.kind}`);
      if (handling.kind === 'lost') this.ports.metrics.fenced();
      return handling;
    } finally {
      timeLimit.stop();
      keeper.stop();
      held.remove();
    }
  }

  /** From claim to the finish script. Rejects only when the run is lost or Redis is away. */
  private async drive(claimed: Claimed, held: Held): Promise<string> {
    if (claimed.run.cancel !== null || claimed.exhausted) return endUnstarted(claimed, held);
    try {
      const outcome = await this.loop(claimed, held);
      if (outcome.kind === 'yielded') {
        await handOver({ ...held, clock: this.ports.clock });
        return 'handed_over';
      }
      const sentMs = this.ports.clock.monotonicMs();
      const ending = await finishOutcome(held, outcome);
      this.count(held, outcome.last, sentMs);
      return ending;
    } catch (error) {
      const reason: unknown = held.keeper.signal.aborted ? held.keeper.signal.reason : error;
      if (held.keeper.lost || reason instanceof FencedError || isStoreAway(reason)) throw reason;
      if (reason instanceof RunTimedOut) return finishTimedOut(held, reason);
      if (reason instanceof RunCancelled) return finishCancelled(held, reason.action);
      if (reason instanceof RunDraining) {
        // Thrown by one call, it ends the others of its step too.
        held.keeper.fail(reason);
        await handOver({ ...held, clock: this.ports.clock });
        return 'handed_over';
      }
      return finishFailed(held, reason);
    }
  }

  private async loop(claimed: Claimed, held: Held): Promise<LoopOutcome> {
    const position = await enterRun(claimed, held, this.ports.store);
    const context = contextOf(this.ports, claimed, held);
    const host: LoopHost = { commit: (turn) => this.commitTurn(claimed, held, turn) };
    return this.ports.agent({ host, run: context, claimed, head: held.head, position });
  }

  private async commitTurn(claimed: Claimed, held: Held, turn: TurnCommit): Promise<'continue' | 'yield'> {
    const { keeper, writer } = held;
    keeper.signal.throwIfAborted();
    const sentMs = this.ports.clock.monotonicMs();
    const result = await writer.commit((queued, after) =>
      this.ports.store.commit(claimed.lease, { ...commitRequest(held, turn, queued), after }),
    );
    held.head = result.head;
    this.count(held, turn, sentMs);
    if (result.cancel !== null) keeper.cancel(result.cancel);
    keeper.signal.throwIfAborted();
    return held.isDraining() ? 'yield' : 'continue';
  }

  private count(held: Held, turn: TurnCommit, sentMs: number): void {
    const nowMs = this.ports.clock.monotonicMs();
    countTurn(this.ports.metrics, turn, { turnMs: nowMs - held.turnStartMs, commitMs: nowMs - sentMs });
    held.turnStartMs = nowMs;
  }

  private onWriteFailure(keeper: LeaseKeeper, error: unknown): void {
    if (error instanceof FencedError) keeper.lose('an append was fenced');
    else keeper.fail(error);
  }

  /**
   * R4 and R5: what is left to do when the run could not be carried to its end here. A defect keeps its attempt: the
   * lease lapses, and a run that no attempt can end is ended as exhausted.
   */
  private async giveUp(claimed: Claimed, keeper: LeaseKeeper, error: unknown): Promise<Handling> {
    if (keeper.lost || !isStoreAway(error)) return { kind: 'lost' };
    try {
      await handOver({ claimed, keeper, store: this.ports.store, clock: this.ports.clock });
      return { kind: 'handed_over' };
    } catch (failure) {
      if (failure instanceof FencedError || isStoreAway(failure)) return { kind: 'lost' };
      throw failure;
    }
  }
}

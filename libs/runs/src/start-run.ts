import { FencedError, omitUndefined } from '@caribou/contracts';
import { parseTraceparent, type Tracing } from '@caribou/observability';
import type { Logger } from '@caribou/core';
import type { ActiveRun, Claimed, RunPorts } from './active-run.js';
import { type EventPublisher, EventWriter } from './events/event-writer.js';
import { type LeaseClocks, LeaseKeeper } from './leases/lease-keeper.js';
import { retryWrites } from './retry-writes.js';
import { recordRun } from './run-recording.js';
import type { RunRegistry } from './run-registry.js';
import { startRunTimeout } from './run-timeout.js';

export interface RunClocks extends LeaseClocks {
  /** Milliseconds between two appends of a run's streamed text; 0: each append follows the one before. */
  readonly eventWindowMs: number;
}

export interface StartPorts extends RunPorts {
  readonly publisher: EventPublisher;
  readonly registry: RunRegistry;
  readonly logger: Logger;
  readonly clocks: RunClocks;
  readonly tracing: Tracing;
  /** Whether what runs do is stored in their traces. */
  readonly storesTraces?: boolean;
  /** Whether no other process can have taken over this one's runs; absent: their own leases say so. */
  readonly isOwner?: () => boolean;
}

export interface StartedRun extends ActiveRun {
  /** Milliseconds since it was started here. */
  readonly ageMs: () => number;
  /** Stops its timers and removes it from the registry, however it ended. */
  readonly release: () => void;
}

/**
 * Starts a claimed run: renews its lease, limits its time, opens its event log and its recording.
 *
 * @param sentMs when the claim was sent, by the monotonic clock
 */
export function startRun(ports: StartPorts, claimed: Claimed, sentMs: number): StartedRun {
  const { store, clock, clocks, publisher, registry } = ports;
  const { lease, run, head } = claimed;
  const logger = loggerOf(ports, claimed);
  if (run.attempt > 1) ports.metrics.takenOver();
  else if (run.started_at !== null) ports.metrics.runStarted(Date.parse(run.started_at) - Date.parse(run.created_at));
  const recording = recordRun(ports, run);
  recording.steps?.basedOn(head.state.messages);
  const startedMs = clock.monotonicMs();
  const renew = () => store.renew(lease);
  const keeper = new LeaseKeeper({ renew, takenMs: sentMs, clocks, clock, logger });
  const writer = new EventWriter(store, lease, publisher, {
    onFailure: (error) => (error instanceof FencedError ? keeper.lose('an append was fenced') : keeper.fail(error)),
    lastSeq: run.last_seq,
    retry: retryWrites({ keeper, clock }),
    windowMs: clocks.eventWindowMs,
    clock,
    ...omitUndefined({ isOwner: ports.isOwner }),
  });
  const entry = registry.add(lease.runId, keeper);
  const timeout = startRunTimeout(claimed, keeper, clock);
  return {
    claimed,
    ports,
    keeper,
    writer,
    logger,
    recording,
    head,
    turnStartMs: startedMs,
    isMemorable: false,
    isBudgetSpent: false,
    after: { more: false, queueIsEmpty: false },
    waiting: claimed.waiting ?? [],
    goalChange: claimed.goalChange,
    turnsTaken: run.llm_call_count,
    isPaused: run.pause,
    isDraining: () => entry.draining,
    ageMs: () => clock.monotonicMs() - startedMs,
    release: () => {
      timeout.stop();
      keeper.stop();
      writer.close();
      entry.remove();
    },
  };
}

const loggerOf = ({ logger }: StartPorts, { lease, run }: Claimed): Logger =>
  logger.child({
    userId: lease.userId,
    threadId: lease.threadId,
    runId: lease.runId,
    attempt: run.attempt,
    traceId: parseTraceparent(run.traceparent ?? undefined)?.traceId,
  });

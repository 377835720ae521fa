import type { Clock, RunContext } from '@caribou/core';
import type { Claimed, Held } from './run-endings.js';
import { countEvent, type RunMetrics } from './run-metrics.js';

export interface ContextPorts {
  readonly clock: Clock;
  readonly metrics: RunMetrics;
}

/** What hooks and tools know of a run that this process holds. */
export function contextOf({ clock, metrics }: ContextPorts, { lease, run }: Claimed, held: Held): RunContext {
  const { keeper, writer, recorder, logger } = held;
  return {
    userId: lease.userId,
    threadId: lease.threadId,
    runId: lease.runId,
    assistantId: run.assistant_id,
    attempt: run.attempt,
    epoch: lease.epoch,
    context: run.kwargs.context,
    signal: keeper.signal,
    clock,
    logger,
    watch: recorder,
    decided: (middleware, decision, fields) => {
      recorder.decided(middleware, decision);
      logger.debug({ event: 'chain.decided', middleware, decision, ...fields }, `${middleware}: ${decision}`);
    },
    emit: (event) => {
      keeper.signal.throwIfAborted();
      countEvent(metrics, event);
      return writer.emit(event.kind === 'run.start' ? { ...event, checkpoint_id: held.head.checkpointId } : event);
    },
  };
}

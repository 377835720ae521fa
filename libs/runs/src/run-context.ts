import { omitUndefined } from '@caribou/contracts';
import { NO_INTERRUPTS_HERE, type RunContext } from '@caribou/core';
import type { ActiveRun } from './active-run.js';
import { countEvent } from './run-metrics.js';

/** Creates the context that hooks and tools receive. */
export function contextOf(active: ActiveRun): RunContext {
  const { claimed, keeper, writer, logger } = active;
  const { recorder, span, steps: tracer } = active.recording;
  const { clock, metrics } = active.ports;
  const { lease, run } = claimed;
  return {
    userId: lease.userId,
    threadId: lease.threadId,
    runId: lease.runId,
    assistantId: run.assistant_id,
    attempt: run.attempt,
    epoch: lease.epoch,
    context: run.kwargs.context,
    ...omitUndefined({ apiKey: run.api_key ?? undefined }),
    signal: keeper.signal,
    clock,
    logger,
    recorder,
    ...omitUndefined({ span, tracer }),
    recordDecision: (middleware, decision, fields) => {
      recorder.recordDecision(middleware, decision);
      logger.debug({ event: 'chain.decided', middleware, decision, ...fields }, `${middleware}: ${decision}`);
    },
    ...NO_INTERRUPTS_HERE,
    takeMessageId: () => writer.takeMessageId(),
    queueForMemory: () => {
      active.isMemorable = true;
    },
    emit: (event) => {
      keeper.signal.throwIfAborted();
      countEvent(metrics, event);
      return writer.emit(event.kind === 'run.start' ? { ...event, checkpoint_id: active.head.checkpointId } : event);
    },
  };
}

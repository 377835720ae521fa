import type { Logger, ThreadKey } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { DelayedRun, DelayedRuns } from '@caribou/state';
import type { GatewayBus } from '../dependency.js';

export interface DelayedStartPorts {
  readonly runs: DelayedRuns;
  readonly bus: Pick<GatewayBus, 'publishCancel' | 'publishEvents'>;
  readonly dispatchTurn: (thread: ThreadKey) => Promise<void>;
  readonly metrics: Pick<Metrics, 'delayedRunStarted'>;
  readonly logger: Logger;
}

/** Runs that one look starts. */
const MAX_AT_ONCE = 100;

/**
 * Puts runs whose time has come into the queues of their threads. Any gateway does; the store lets each start take effect
 * once. What is lost between the store and a runner is found by the runners' sweeps, as for any admitted run.
 */
export async function startDelayedRuns(ports: DelayedStartPorts): Promise<number | null> {
  const { runs, waitMs } = await ports.runs.listDue(MAX_AT_ONCE);
  for (const run of runs) await startOne(ports, run);
  return waitMs;
}

async function startOne(
  { runs, bus, dispatchTurn, metrics, logger }: DelayedStartPorts,
  run: DelayedRun,
): Promise<void> {
  const { userId, threadId, runId } = run;
  const start = await runs.start(run);
  if (start === null) return;
  metrics.delayedRunStarted();
  logger.info({ event: 'run.due', outcome: 'ok', userId, threadId, runId }, 'the time of a run has come');
  for (const { runId: ended, appended } of start.ended) bus.publishEvents(ended, appended, appended.at(-1)?.seq ?? 0);
  for (const cancelled of start.cancelled) bus.publishCancel(cancelled, start.action);
  if (!start.isUnderWay) void dispatchTurn({ userId, threadId });
}

import type { RunEvent } from '@caribou/contracts';
import type { TurnCommit } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { WrittenBytes } from './events/event-writer.js';

/** The metrics that a runner records of its runs. */
export type RunMetrics = Pick<
  Metrics,
  | 'runEnded'
  | 'turnEnded'
  | 'modelTokens'
  | 'modelRetried'
  | 'modelFellBack'
  | 'toolCallEnded'
  | 'redisCommit'
  | 'fenced'
  | 'takenOver'
  | 'runStarted'
  | 'runWrote'
  | 'budgetReached'
>;

/** Counts the end of a tool call, and a model call that will be retried or answered by another model. */
export function countEvent(
  metrics: Pick<RunMetrics, 'toolCallEnded' | 'modelRetried' | 'modelFellBack'>,
  event: RunEvent,
): void {
  if (event.kind === 'tool.error') metrics.toolCallEnded(event.name, 'error');
  else if (event.kind === 'tool.end') metrics.toolCallEnded(event.name, 'ok');
  else if (event.kind === 'custom' && isCallEvent('llm_retry', event.data)) metrics.modelRetried(event.data.reason);
  else if (event.kind === 'custom' && isCallEvent('llm_fallback', event.data)) metrics.modelFellBack(event.data.reason);
}

/** Whether it is an event of the middleware `llm-error`, before it waits for another attempt or calls another model. */
const isCallEvent = (type: string, data: unknown): data is { readonly reason: string } =>
  typeof data === 'object' &&
  data !== null &&
  'type' in data &&
  data.type === type &&
  'reason' in data &&
  typeof data.reason === 'string';

/** Counts what a run has written, once its log has its end. */
export function countBytes(metrics: Pick<RunMetrics, 'runWrote'>, { state, log }: WrittenBytes): void {
  if (log !== undefined) metrics.runWrote({ stateBytes: state, logBytes: log });
}

/** Counts a turn that reached its commit. */
export function countTurn(
  metrics: RunMetrics,
  turn: TurnCommit,
  times: { readonly turnMs: number; readonly commitMs: number },
): void {
  metrics.turnEnded(times.turnMs);
  metrics.redisCommit(times.commitMs);
  for (const { inputTokens, outputTokens } of turn.usage?.calls ?? []) {
    metrics.modelTokens('input', inputTokens);
    metrics.modelTokens('output', outputTokens);
  }
}

import type { RunEvent } from '@caribou/contracts';
import type { TurnCommit } from '@caribou/core';
import type { Metrics } from '@caribou/observability';

/** What a runner counts of its runs. */
export type RunMetrics = Pick<
  Metrics,
  'runEnded' | 'turnEnded' | 'modelTokens' | 'toolCallEnded' | 'redisCommit' | 'fenced' | 'takenOver'
>;

/** Counts what an event tells of a tool call. */
export function countEvent(metrics: RunMetrics, event: RunEvent): void {
  if (event.kind === 'tool.error') metrics.toolCallEnded(event.name, 'error');
  else if (event.kind === 'tool.end') metrics.toolCallEnded(event.name, 'ok');
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

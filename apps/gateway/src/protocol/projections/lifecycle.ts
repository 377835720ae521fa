import { omitUndefined, type RunStatus } from '@caribou/contracts';
import { json, type ProjectedEvent, ROOT } from '../projected-event.js';

export type AgentStatus = 'started' | 'running' | 'completed' | 'failed' | 'interrupted';

interface LifecycleMore {
  readonly graphName?: string | undefined;
  readonly error?: string | undefined;
  /** The tool call that started this agent. */
  readonly toolCallId?: string;
  readonly checkpointId?: string | null;
}

/** An event of channel `lifecycle`. */
export function lifecycle(namespace: readonly string[], status: AgentStatus, more: LifecycleMore = {}): ProjectedEvent {
  const { graphName, error, toolCallId, checkpointId } = more;
  const data = {
    event: status,
    ...omitUndefined({ graph_name: graphName, error }),
    ...(toolCallId === undefined ? {} : { cause: { type: 'toolCall', tool_call_id: toolCallId } }),
    ...(checkpointId === undefined || checkpointId === null ? {} : { checkpoint: { id: checkpointId } }),
  };
  return { channel: 'lifecycle', method: 'lifecycle', namespace, payload: json(data) };
}

export const runStarted = (graphName: string): ProjectedEvent => ({
  ...lifecycle(ROOT, 'running', { graphName }),
  isOfRun: true,
});

interface RunEnd {
  readonly status: RunStatus;
  readonly error: string | undefined;
  /** Whether the run stopped before a node. */
  readonly hasNext: boolean;
  readonly graphName: string;
  readonly checkpointId: string | null;
}

/** The end of a run: the last of its events. */
export const runEnded = ({ status, error, hasNext, ...more }: RunEnd): ProjectedEvent => ({
  ...lifecycle(ROOT, statusOf(status, hasNext), { error: errorOf(status, error), ...more }),
  isOfRun: true,
  isLast: true,
});

function statusOf(status: RunStatus, hasNext: boolean): AgentStatus {
  if (status === 'success') return hasNext ? 'interrupted' : 'completed';
  return status === 'interrupted' ? 'interrupted' : 'failed';
}

function errorOf(status: RunStatus, error: string | undefined): string | undefined {
  if (status === 'error') return error ?? 'the run failed';
  return status === 'timeout' ? (error ?? 'the run exceeded its time limit') : undefined;
}

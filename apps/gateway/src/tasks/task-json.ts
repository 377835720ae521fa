import { type CheckpointView, isTerminal, type RunRecord, type DelegatedTaskReply } from '@caribou/contracts';
import { taskOutcomeOf, taskSpecOf } from '@caribou/runs';

/** A task as clients see it; undefined when its record has the form of another version. */
export function taskJson(run: RunRecord): DelegatedTaskReply | undefined {
  const spec = taskSpecOf(run);
  if (spec === undefined) return undefined;
  const over = isTerminal(run.status);
  const { usage, stopReason } = taskOutcomeOf(run, null);
  return {
    task_id: spec.parent.tool_call_id,
    run_id: spec.parent.run_id,
    subagent_type: spec.subagent_type,
    description: spec.description,
    model_name: spec.model,
    status: statusOf(run),
    stop_reason: stopReason ?? null,
    error: run.error?.message ?? null,
    attempt: run.attempt,
    created_at: run.created_at,
    started_at: run.started_at,
    ended_at: over ? run.updated_at : null,
    llm_call_count: run.llm_call_count,
    usage,
  };
}

/** The result of a task; null while it runs, or when it ended without one. */
export function resultOf(run: RunRecord, head: CheckpointView | null): string | null {
  if (!isTerminal(run.status)) return null;
  const { status, text, partial } = taskOutcomeOf(run, head);
  return status === 'completed' ? text : (partial ?? null);
}

function statusOf({ status, stop_reason: reason }: RunRecord): DelegatedTaskReply['status'] {
  switch (status) {
    case 'pending':
      return 'waiting';
    case 'running':
      return 'running';
    case 'success':
      return 'completed';
    case 'timeout':
      return 'timed_out';
    case 'interrupted':
      return 'cancelled';
    case 'error':
      return reason === 'recursion_limit' ? 'completed' : 'failed';
  }
}

import {
  isTerminal,
  type RunRecord,
  type RunStatus,
  type ScheduledTaskReply,
  type ScheduledTaskRunReply,
} from '@caribou/contracts';
import type { CronRun } from '@caribou/state';
import { isoOrNull } from '../crons/cron-json.js';
import type { ReadCron } from '../crons/cron-spec.js';

type Task = NonNullable<ReadCron['spec']['task']>;

/** A cron that is a scheduled task. */
export type TaskCron = ReadCron & { readonly spec: { readonly task: Task } };

export const isTask = (cron: ReadCron): cron is TaskCron => cron.spec.task !== null;

/** Whether it has run for the last time: it has no due time and was not paused. */
export const isOver = ({ stored, spec }: ReadCron): boolean => spec.enabled && stored.dueMs === null;

/** What conversations give to their tasks in DeerFlow, and conversations here do not make tasks. */
const OF_CONVERSATIONS = { goal_objective: null, origin_thread_id: null, standing_notes: [] };

/**
 * A scheduled task as DeerFlow's page shows it. A recurring task stays enabled while a run of it is under way.
 *
 * @param lastStatus of the run that it has started last; null: there is none, or it was deleted
 */
export function taskJson({ stored, spec }: TaskCron, lastStatus: RunStatus | null): ScheduledTaskReply {
  const { title, prompt, context_mode, schedule_spec, stop_condition } = spec.task;
  return {
    id: stored.cronId,
    thread_id: spec.thread_id,
    context_mode,
    assistant_id: String(spec.request['assistant_id']),
    title,
    prompt,
    schedule_type: spec.times.type,
    schedule_spec,
    timezone: spec.timezone ?? 'UTC',
    status: statusOf({ stored, spec }, lastStatus),
    next_run_at: isoOrNull(stored.dueMs),
    last_run_at: stored.lastAt,
    last_run_id: stored.lastRunId,
    last_thread_id: stored.lastThreadId,
    last_error: stored.lastError,
    run_count: stored.started,
    max_runs: spec.max_runs,
    end_at: spec.end_time,
    stop_condition,
    automatic_runs_used: stored.automatic,
    active_run_status: activeStatusOf(lastStatus),
    ...OF_CONVERSATIONS,
    created_at: stored.createdAt,
    updated_at: stored.updatedAt,
  };
}

function activeStatusOf(status: RunStatus | null): ScheduledTaskReply['active_run_status'] {
  if (status === 'pending') return 'queued';
  return status === 'running' ? 'running' : null;
}

function statusOf(cron: ReadCron, lastStatus: RunStatus | null): ScheduledTaskReply['status'] {
  const { stored, spec } = cron;
  if (!spec.enabled) return 'paused';
  if (!isOver(cron)) return 'enabled';
  if (activeStatusOf(lastStatus) !== null) return 'running';
  if (spec.times.type !== 'once' && (spec.max_runs !== null || spec.end_time !== null)) return 'completed';
  return stored.lastError === null && (lastStatus === null || lastStatus === 'success') ? 'completed' : 'failed';
}

const RUN_STATUS: Readonly<Record<RunStatus, ScheduledTaskRunReply['status']>> = {
  pending: 'queued',
  running: 'running',
  success: 'success',
  error: 'failed',
  timeout: 'failed',
  interrupted: 'interrupted',
};

/** @param run null: no run was started, or it was deleted */
export const runStatusOf = (entry: CronRun, run: Pick<RunRecord, 'status'> | null): ScheduledTaskRunReply['status'] =>
  run === null ? withoutRun(entry).status : RUN_STATUS[run.status];

/**
 * @param run null: no run was started, or it was deleted
 * @param summary the first line of its last answer, where that is known
 */
export function taskRunJson(
  taskId: string,
  entry: CronRun,
  { run, summary }: { readonly run: RunRecord | null; readonly summary: string | null },
): ScheduledTaskRunReply {
  return {
    id: entry.id,
    task_id: taskId,
    thread_id: entry.threadId ?? null,
    run_id: entry.runId ?? null,
    scheduled_for: entry.scheduledFor,
    trigger: entry.trigger,
    created_at: entry.createdAt,
    run_number: entry.number ?? null,
    total_tokens: run?.total_tokens ?? null,
    summary,
    stop_requested_run_id: entry.hasStopped === true ? (entry.runId ?? null) : null,
    ...{ goal_objective: null, goal_verdict: null },
    ...(run === null ? withoutRun(entry) : progressOf(run)),
  };
}

const progressOf = ({ status, error, attempt, started_at, updated_at }: RunRecord) => ({
  status: RUN_STATUS[status],
  error: error === null ? null : error.message,
  attempt_count: attempt,
  started_at,
  finished_at: isTerminal(status) ? updated_at : null,
});

const withoutRun = ({ runId, error }: CronRun) => ({
  status: runId === undefined ? ('skipped' as const) : ('interrupted' as const),
  error: error ?? null,
  attempt_count: 0,
  started_at: null,
  finished_at: null,
});

import {
  isTerminal,
  LEAD_AGENT,
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

/**
 * A scheduled task as DeerFlow's page shows it. A recurring task stays enabled while a run of it is under way.
 *
 * @param lastStatus of the run that it has started last; null: there is none, or it was deleted
 */
export function taskJson({ stored, spec }: TaskCron, lastStatus: RunStatus | null): ScheduledTaskReply {
  const { title, prompt, context_mode, schedule_spec } = spec.task;
  return {
    id: stored.cronId,
    thread_id: spec.thread_id,
    context_mode,
    assistant_id: LEAD_AGENT,
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
    created_at: stored.createdAt,
    updated_at: stored.updatedAt,
  };
}

function statusOf({ stored, spec }: ReadCron, lastStatus: RunStatus | null): ScheduledTaskReply['status'] {
  if (!spec.enabled) return 'paused';
  if (stored.dueMs !== null) return 'enabled';
  if (lastStatus === 'pending' || lastStatus === 'running') return 'running';
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
export function taskRunJson(taskId: string, entry: CronRun, run: RunRecord | null): ScheduledTaskRunReply {
  return {
    id: entry.id,
    task_id: taskId,
    thread_id: entry.threadId ?? null,
    run_id: entry.runId ?? null,
    scheduled_for: entry.scheduledFor,
    trigger: entry.trigger,
    created_at: entry.createdAt,
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

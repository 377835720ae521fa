import {
  type CronSpec,
  type CronTimes,
  InvalidRequestError,
  LEAD_AGENT,
  type ScheduledTaskCreate,
  type ScheduledTaskRenewal,
  type ScheduledTaskUpdate,
  ScheduleSpec,
} from '@caribou/contracts';
import { taskRequest } from '../crons/cron-run.js';
import { checkTimezone } from '../crons/timetable.js';
import { wallTimeMs } from '../crons/wall-time.js';
import { parse } from '../http/parse-input.js';
import type { TaskCron } from './task-json.js';

type Type = ScheduledTaskCreate['schedule_type'];
type Task = TaskCron['spec']['task'];

/** The field of `schedule_spec` that belongs to each type. */
const FIELD_OF = { once: 'run_at', cron: 'cron', interval: 'every_seconds' } as const satisfies Record<
  Type,
  keyof ScheduleSpec
>;

/** A changed specification, and whether it has other due times. */
export interface TaskChange {
  readonly spec: CronSpec;
  readonly retimed: boolean;
}

interface NewTask {
  readonly apiKey: string | undefined;
  /** The clock of the store, from which intervals are counted. */
  readonly nowMs: number;
}

/** @throws {InvalidRequestError} naming the field */
export function newTaskSpec(body: ScheduledTaskCreate, { apiKey, nowMs }: NewTask): CronSpec {
  const { title, prompt, context_mode, schedule_spec, timezone, stop_condition: stopCondition = null } = body;
  checkTimezone(timezone);
  return {
    times: timesOf(body.schedule_type, schedule_spec, { timezone, nowMs }),
    timezone,
    end_time: endTimeOf(body.end_at, timezone),
    enabled: true,
    max_runs: body.max_runs ?? null,
    thread_id: threadOf(context_mode, body.thread_id),
    on_run_completed: 'keep',
    metadata: {},
    request: taskRequest({ assistantId: body.assistant_id ?? LEAD_AGENT, prompt, stopCondition }),
    api_key: apiKey ?? null,
    task: { title, prompt, context_mode, schedule_spec, stop_condition: stopCondition },
  };
}

/** @throws {InvalidRequestError} naming the field */
export function changedTaskSpec(cron: TaskCron, body: ScheduledTaskUpdate, nowMs: number): TaskChange {
  const { stored, spec } = cron;
  const task = changedTask(spec.task, body);
  const { timezone, times, scheduleSpec } = changedTimes(cron, body, nowMs);
  // A page sends the schedule with every change: only another one gives the task another due time.
  const isMoved = timezone !== spec.timezone || JSON.stringify(times) !== JSON.stringify(spec.times);
  const { prompt, stop_condition: stopCondition } = task;
  return {
    // A limit of a task that has no due time changes none.
    retimed: isMoved || (body.end_at !== undefined && stored.dueMs !== null),
    spec: {
      ...withLimits(spec, body, { timezone, used: stored.automatic }),
      times,
      timezone,
      thread_id: threadOf(task.context_mode, body.thread_id ?? spec.thread_id),
      request: taskRequest({ assistantId: changedAssistant(spec, body), prompt, stopCondition }),
      task: { ...task, schedule_spec: scheduleSpec },
    },
  };
}

const changedTask = (task: Task, body: ScheduledTaskUpdate): Task => ({
  ...task,
  title: body.title ?? task.title,
  prompt: body.prompt ?? task.prompt,
  context_mode: body.context_mode ?? task.context_mode,
  stop_condition: body.stop_condition === undefined ? task.stop_condition : body.stop_condition,
});

const changedAssistant = ({ request }: CronSpec, { assistant_id: id }: ScheduledTaskUpdate): string =>
  id === undefined ? String(request['assistant_id']) : (id ?? LEAD_AGENT);

interface ChangedTimes {
  readonly timezone: string;
  readonly times: CronTimes;
  /** As the client sent it. */
  readonly scheduleSpec: ScheduleSpec;
}

function changedTimes({ spec }: TaskCron, body: ScheduledTaskUpdate, nowMs: number): ChangedTimes {
  const timezone = body.timezone ?? spec.timezone ?? 'UTC';
  checkTimezone(timezone);
  const type = body.schedule_type ?? spec.times.type;
  if (type !== spec.times.type && !body.schedule_spec)
    throw fault('schedule_spec', `is needed for schedule_type ${type}`);
  const scheduleSpec = body.schedule_spec ?? parse(ScheduleSpec, spec.task.schedule_spec, 'schedule_spec');
  const isSent = Boolean(body.schedule_spec ?? body.timezone);
  const times = isSent ? keepAnchor(timesOf(type, scheduleSpec, { timezone, nowMs }), spec.times) : spec.times;
  return { timezone, times, scheduleSpec };
}

/** The specification with the limits of a request. @throws {InvalidRequestError} for a limit that is used up already */
export function withLimits(
  spec: CronSpec,
  { max_runs: maxRuns, end_at: endAt }: ScheduledTaskRenewal,
  { timezone, used }: { readonly timezone: string; readonly used: number },
): CronSpec {
  if (typeof maxRuns === 'number' && maxRuns <= used)
    throw fault('max_runs', `must be more than the ${used} runs that the schedule has started`);
  return {
    ...spec,
    max_runs: maxRuns === undefined ? spec.max_runs : maxRuns,
    end_time: endAt === undefined ? spec.end_time : endTimeOf(endAt, timezone),
  };
}

const endTimeOf = (endAt: string | null | undefined, timezone: string): string | null =>
  endAt === null || endAt === undefined ? null : isoOf(endAt, timezone);

const isoOf = (time: string, timezone: string): string => new Date(wallTimeMs(time, timezone)).toISOString();

interface Moment {
  readonly timezone: string;
  readonly nowMs: number;
}

/** @throws {InvalidRequestError} when what the type needs is missing, or what belongs to another type is there */
function timesOf(type: Type, given: ScheduleSpec, { timezone, nowMs }: Moment): CronTimes {
  for (const field of Object.values(FIELD_OF))
    if (field !== FIELD_OF[type] && given[field] !== undefined)
      throw fault(`schedule_spec.${field}`, `does not belong to schedule_type ${type}`);
  const { cron, run_at: at, every_seconds: seconds } = given;
  if (type === 'once' && at !== undefined) return { type, at: isoOf(at, timezone) };
  if (type === 'interval' && seconds !== undefined)
    return { type, every_seconds: seconds, anchor: new Date(nowMs).toISOString() };
  if (type !== 'cron' || cron === undefined)
    throw fault(`schedule_spec.${FIELD_OF[type]}`, `is needed for schedule_type ${type}`);
  if (cron.trim().split(/\s+/).length !== 5) throw fault('schedule_spec.cron', 'must have five fields');
  return { type, expression: cron };
}

/** An interval that stays as it is keeps its due times. */
const keepAnchor = (times: CronTimes, before: CronTimes): CronTimes =>
  times.type === 'interval' && before.type === 'interval' && times.every_seconds === before.every_seconds
    ? before
    : times;

function threadOf(mode: ScheduledTaskCreate['context_mode'], threadId: string | null | undefined): string | null {
  if (mode === 'fresh_thread_per_run') return null;
  if (threadId === null || threadId === undefined) throw fault('thread_id', 'is needed for reuse_thread');
  return threadId;
}

const fault = (field: string, text: string): InvalidRequestError =>
  new InvalidRequestError(`${field}: ${text}`, { details: { field } });

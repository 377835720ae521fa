import { z } from 'zod';
import { ThreadId, UserId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';
import { ThreadPath } from '../threads/threads.js';

/** Scheduled tasks in DeerFlow's format. */

const group = 'Scheduled tasks';
const MAX_TITLE_CHARS = 200;
const MAX_PROMPT_CHARS = 20_000;
const MAX_ZONE_CHARS = 100;

const ContextMode = z.enum(['fresh_thread_per_run', 'reuse_thread']);
const Title = z.string().min(1).max(MAX_TITLE_CHARS);
const Prompt = z.string().min(1).max(MAX_PROMPT_CHARS);
const Timezone = z.string().min(1).max(MAX_ZONE_CHARS).describe('IANA name such as Europe/Berlin');
const Spec = z
  .object({
    cron: z.string().max(200).optional().describe('Five fields'),
    run_at: z.iso.datetime({ offset: true, local: true }).optional().describe('Of a task that runs once'),
  })
  .describe('cron or run_at, as schedule_type says');

export const ScheduledTaskCreate = z.object({
  title: Title,
  prompt: Prompt,
  schedule_type: z.enum(['once', 'cron']),
  schedule_spec: Spec,
  timezone: Timezone,
  context_mode: ContextMode.default('fresh_thread_per_run'),
  thread_id: ThreadId.nullish().describe('Of reuse_thread'),
});
export type ScheduledTaskCreate = z.output<typeof ScheduledTaskCreate>;

export const ScheduledTaskUpdate = z.object({
  title: Title.nullish(),
  prompt: Prompt.nullish(),
  schedule_spec: Spec.nullish(),
  timezone: Timezone.nullish(),
  context_mode: ContextMode.nullish(),
  thread_id: ThreadId.nullish(),
});
export type ScheduledTaskUpdate = z.output<typeof ScheduledTaskUpdate>;

export const ScheduledTaskReply = z.object({
  id: z.string(),
  thread_id: z.string().nullable(),
  context_mode: ContextMode,
  assistant_id: z.string(),
  title: z.string(),
  prompt: z.string(),
  schedule_type: z.enum(['once', 'cron']),
  schedule_spec: z.record(z.string(), z.unknown()),
  timezone: z.string(),
  status: z.enum(['enabled', 'paused', 'running', 'completed', 'failed']),
  next_run_at: z.string().nullable(),
  last_run_at: z.string().nullable(),
  last_run_id: z.string().nullable(),
  last_thread_id: z.string().nullable(),
  last_error: z.string().nullable(),
  run_count: z.number().int(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type ScheduledTaskReply = z.infer<typeof ScheduledTaskReply>;

export const ScheduledTaskRunReply = z.object({
  id: z.string(),
  task_id: z.string(),
  thread_id: z.string().nullable(),
  run_id: z.string().nullable(),
  scheduled_for: z.string(),
  trigger: z.enum(['scheduled', 'manual']),
  status: z.enum(['queued', 'running', 'success', 'failed', 'skipped', 'interrupted']),
  error: z.string().nullable(),
  attempt_count: z.number().int(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  created_at: z.string(),
});
export type ScheduledTaskRunReply = z.infer<typeof ScheduledTaskRunReply>;

const TaskPath = z.object({ task_id: UserId.describe('Scheduled task id') });
const one = { group, path: '/scheduled-tasks/:task_id', params: TaskPath, reply: ScheduledTaskReply } as const;

const list = route({
  name: 'listScheduledTasks',
  group,
  method: 'GET',
  path: '/scheduled-tasks',
  summary: 'Your scheduled tasks, newest first.',
  reply: z.array(ScheduledTaskReply),
});

const listOfThread = route({
  name: 'listScheduledTasksOfThread',
  group,
  method: 'GET',
  path: '/threads/:thread_id/scheduled-tasks',
  summary: 'Scheduled tasks that run on a thread.',
  params: ThreadPath,
  reply: z.array(ScheduledTaskReply),
  refusals: [404],
});

const create = route({
  name: 'createScheduledTask',
  group,
  method: 'POST',
  path: '/scheduled-tasks',
  summary: 'Let the agent do something at a time, or at set times.',
  body: ScheduledTaskCreate,
  reply: ScheduledTaskReply,
  refusals: [404, 429],
});

const get = route({ ...one, name: 'getScheduledTask', method: 'GET', summary: 'One scheduled task.', refusals: [404] });

const update = route({
  ...one,
  name: 'updateScheduledTask',
  method: 'PATCH',
  summary: 'Change a scheduled task.',
  body: ScheduledTaskUpdate,
  refusals: [404, 409],
});

const remove = route({
  ...one,
  name: 'deleteScheduledTask',
  method: 'DELETE',
  summary: 'Delete a scheduled task. Runs that it has started continue.',
  reply: z.object({ id: z.string(), deleted: z.literal(true) }),
  refusals: [404],
});

const pause = route({
  ...one,
  name: 'pauseScheduledTask',
  method: 'POST',
  path: '/scheduled-tasks/:task_id/pause',
  summary: 'Let a task have no due times until it is resumed.',
  refusals: [404, 409],
});

const resume = route({
  ...one,
  name: 'resumeScheduledTask',
  method: 'POST',
  path: '/scheduled-tasks/:task_id/resume',
  summary: 'Let a paused task have due times again; those of the pause are not made up for.',
  refusals: [404, 409],
});

const trigger = route({
  ...one,
  name: 'triggerScheduledTask',
  method: 'POST',
  path: '/scheduled-tasks/:task_id/trigger',
  summary: 'Start a run of a task now; its schedule stays.',
  reply: z.object({ id: z.string(), triggered: z.literal(true), thread_id: z.string() }),
  refusals: [404, 409, 429],
});

const runs = route({
  ...one,
  name: 'listScheduledTaskRuns',
  method: 'GET',
  path: '/scheduled-tasks/:task_id/runs',
  summary: 'The newest 200 due times and starts by hand of a task with their outcomes, newest first.',
  query: z.object({ limit: queryInt(50, 1, 200), offset: queryInt(0, 0, 1_000) }),
  reply: z.array(ScheduledTaskRunReply),
  refusals: [404],
});

export const scheduledTaskRoutes = { list, listOfThread, create, get, update, remove, pause, resume, trigger, runs };

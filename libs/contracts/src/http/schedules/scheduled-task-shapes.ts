import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { orEmpty, Unsupported, unsupported } from '../route.js';

/** Bodies and replies of scheduled tasks, in DeerFlow's format. */

const MAX_TITLE_CHARS = 200;
const MAX_PROMPT_CHARS = 20_000;
const MAX_ZONE_CHARS = 100;
const MAX_CONDITION_CHARS = 500;
const MAX_RUNS = 1_000_000;
/** 30 days. */
const MAX_INTERVAL_SECONDS = 2_592_000;

const ContextMode = z.enum(['fresh_thread_per_run', 'reuse_thread']);
const ScheduleType = z.enum(['once', 'cron', 'interval']);
const Title = z.string().min(1).max(MAX_TITLE_CHARS);
const Prompt = z.string().min(1).max(MAX_PROMPT_CHARS);
const Timezone = z.string().min(1).max(MAX_ZONE_CHARS).describe('IANA name such as Europe/Berlin');
const Time = z.iso.datetime({ offset: true, local: true }).describe('Without an offset it is a time of timezone');
/** When a task is due. */
export const ScheduleSpec = z
  .object({
    cron: z.string().max(200).optional().describe('Five fields'),
    run_at: Time.optional().describe('Of a task that runs once; without an offset it is a time of timezone'),
    every_seconds: z.int().min(1).max(MAX_INTERVAL_SECONDS).optional().describe('Of an interval'),
  })
  .catchall(Unsupported)
  .describe('cron, run_at or every_seconds, as schedule_type says');
export type ScheduleSpec = z.output<typeof ScheduleSpec>;
const StopCondition = z
  .string()
  .transform((text) => text.trim().replace(/\s+/g, ' '))
  .pipe(z.string().max(MAX_CONDITION_CHARS))
  .transform((text) => (text === '' ? null : text))
  .describe('When it is met, the agent of a run pauses the task');
const MaxRuns = z
  .int()
  .min(1)
  .max(MAX_RUNS)
  .describe('The task is over after so many runs; those of trigger are not counted');
const EndAt = Time.describe('No run is due after it; without an offset it is a time of timezone');
const AssistantId = z.string().min(1).max(200).describe('The agent of the runs; the lead agent by default');

const ofTask = {
  thread_id: ThreadId.nullish().describe('Of reuse_thread'),
  assistant_id: AssistantId.nullish(),
  max_runs: MaxRuns.nullish(),
  end_at: EndAt.nullish(),
  stop_condition: StopCondition.nullish(),
  goal_objective: unsupported('say in prompt what a run has to reach'),
};

/** Fields that are not served are refused by name, as no part of a schedule may be ignored. */
export const ScheduledTaskCreate = z
  .object({
    title: Title,
    prompt: Prompt,
    schedule_type: ScheduleType,
    schedule_spec: ScheduleSpec,
    timezone: Timezone,
    context_mode: ContextMode.default('fresh_thread_per_run'),
    ...ofTask,
  })
  .catchall(Unsupported);
export type ScheduledTaskCreate = z.output<typeof ScheduledTaskCreate>;

export const ScheduledTaskUpdate = z
  .object({
    title: Title.nullish(),
    prompt: Prompt.nullish(),
    schedule_type: ScheduleType.nullish().describe('Another type needs schedule_spec'),
    schedule_spec: ScheduleSpec.nullish(),
    timezone: Timezone.nullish(),
    context_mode: ContextMode.nullish(),
    ...ofTask,
  })
  .catchall(Unsupported);
export type ScheduledTaskUpdate = z.output<typeof ScheduledTaskUpdate>;

/** What a task that is resumed may get in the same request; null removes a limit. */
export const ScheduledTaskRenewal = orEmpty(
  z.object({ max_runs: ofTask.max_runs, end_at: ofTask.end_at }).catchall(Unsupported),
);
export type ScheduledTaskRenewal = z.output<typeof ScheduledTaskRenewal>;

const RunState = z.enum(['queued', 'running', 'success', 'failed', 'skipped', 'interrupted']);
const Trigger = z.enum(['scheduled', 'manual']);

export const ScheduledTaskReply = z.object({
  id: z.string(),
  thread_id: z.string().nullable(),
  context_mode: ContextMode,
  assistant_id: z.string(),
  title: z.string(),
  prompt: z.string(),
  schedule_type: ScheduleType,
  schedule_spec: z.record(z.string(), z.unknown()),
  timezone: z.string(),
  status: z.enum(['enabled', 'paused', 'running', 'completed', 'failed']),
  next_run_at: z.string().nullable(),
  last_run_at: z.string().nullable(),
  last_run_id: z.string().nullable(),
  last_thread_id: z.string().nullable(),
  last_error: z.string().nullable(),
  run_count: z.number().int(),
  max_runs: z.number().int().nullable(),
  end_at: z.string().nullable(),
  stop_condition: z.string().nullable(),
  automatic_runs_used: z.number().int().describe('Runs that count for max_runs'),
  active_run_status: z.enum(['queued', 'running']).nullable().describe('Of the newest run, while it is in flight'),
  goal_objective: z.null(),
  origin_thread_id: z.null(),
  standing_notes: z.array(z.string()).max(0),
  created_at: z.string(),
  updated_at: z.string(),
});
export type ScheduledTaskReply = z.infer<typeof ScheduledTaskReply>;

export const ThreadTaskReply = ScheduledTaskReply.extend({
  thread_relation: z.enum(['reuse', 'run']).describe('The task runs on the thread, or one of its runs has made it'),
  thread_run: z
    .object({ run_number: z.number().int().nullable(), trigger: Trigger, scheduled_for: z.string(), status: RunState })
    .nullable()
    .describe('The run that has made the thread'),
});
export type ThreadTaskReply = z.infer<typeof ThreadTaskReply>;

export const ScheduledTaskRunReply = z.object({
  id: z.string(),
  task_id: z.string(),
  thread_id: z.string().nullable(),
  run_id: z.string().nullable(),
  scheduled_for: z.string(),
  trigger: Trigger,
  status: RunState,
  error: z.string().nullable(),
  attempt_count: z.number().int(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  created_at: z.string(),
  run_number: z.number().int().nullable().describe('As counted for max_runs; null: started by hand, or not started'),
  total_tokens: z.number().int().nullable(),
  summary: z.string().nullable().describe('First line of the last answer, on a thread that the run has made'),
  stop_requested_run_id: z.string().nullable().describe('run_id when its agent has stopped the schedule'),
  goal_objective: z.null(),
  goal_verdict: z.null(),
});
export type ScheduledTaskRunReply = z.infer<typeof ScheduledTaskRunReply>;

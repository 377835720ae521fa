import { z } from 'zod';

/** When a cron is due: by an expression, once (ISO 8601), or each so many seconds after a fixed time. */
export const CronTimes = z.discriminatedUnion('type', [
  z.object({ type: z.literal('cron'), expression: z.string() }),
  z.object({ type: z.literal('once'), at: z.string() }),
  z.object({
    type: z.literal('interval'),
    every_seconds: z.int().min(1),
    /** Due times are whole intervals after it (ISO 8601), so that a late start moves none of the others. */
    anchor: z.string(),
  }),
]);
export type CronTimes = z.infer<typeof CronTimes>;

/** What a user has asked of a cron, as it is stored. */
export const CronSpec = z.object({
  times: CronTimes,
  /** IANA name; null: UTC. */
  timezone: z.string().nullable(),
  /** No due time after it, ISO 8601; null: no end. */
  end_time: z.string().nullable(),
  enabled: z.boolean(),
  /** The schedule is over after this number of runs that due times have started; null: no such end. */
  max_runs: z.int().min(1).nullable().default(null),
  /** null: each run gets a thread of its own. */
  thread_id: z.string().nullable(),
  /** What becomes of a thread that a run got of its own. */
  on_run_completed: z.enum(['delete', 'keep']),
  metadata: z.record(z.string(), z.unknown()),
  /** The body of the request that each run repeats, as the client sent it. */
  request: z.record(z.string(), z.unknown()),
  /** Id of the API key that pays for the runs. */
  api_key: z.string().nullable(),
  /** Set for a scheduled task of DeerFlow's page, which is a cron too. */
  task: z
    .object({
      title: z.string(),
      prompt: z.string(),
      context_mode: z.enum(['fresh_thread_per_run', 'reuse_thread']),
      /** As the client sent it. */
      schedule_spec: z.record(z.string(), z.unknown()),
      /** What ends the schedule, in the user's words; the agent of a run decides whether it is met. */
      stop_condition: z.string().nullable().default(null),
    })
    .nullable(),
});
export type CronSpec = z.infer<typeof CronSpec>;

import { z } from 'zod';

/** When a cron is due: by an expression, or once (ISO 8601). */
export const CronTimes = z.discriminatedUnion('type', [
  z.object({ type: z.literal('cron'), expression: z.string() }),
  z.object({ type: z.literal('once'), at: z.string() }),
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
    })
    .nullable(),
});
export type CronSpec = z.infer<typeof CronSpec>;

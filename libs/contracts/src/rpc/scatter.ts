import { z } from 'zod';
import { serviceNames } from '../common/services.js';
import { ThreadId, UserId } from '../common/ids.js';
import { SandboxDriverKind } from '../records/sandbox-driver.js';
import type { RpcContract } from './contract.js';

/**
 * A question to every process that serves its subject: each gives one reply, and `timeoutMs` is how long the caller collects them.
 * The subject has no queue group.
 */
export type ScatterContract<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> = RpcContract<
  Request,
  Reply
>;

const scatter = <Request extends z.ZodType, Reply extends z.ZodType>(
  contract: ScatterContract<Request, Reply>,
): ScatterContract<Request, Reply> => contract;

const count = () => z.number().int().min(0);

/** What a process says about itself. It is measured when somebody asks; nothing of it is stored. */
export const ProcessInfo = z.object({
  service: z.enum(serviceNames),
  id: z.string().min(1).max(128).describe('The id of this start of the process; a lease in Redis has the same'),
  version: z.string().max(64),
  host: z.string().max(255),
  pid: count(),
  started_at: z.iso.datetime(),
  state: z
    .enum(['ready', 'draining', 'degraded'])
    .describe('draining: it ends and takes no more work; degraded: it lacks what `problems` names'),
  problems: z.array(z.object({ name: z.string().max(64), reason: z.string().max(500) })).max(32),
  slots: z
    .array(z.object({ kind: z.string().max(32), used: count(), limit: count() }))
    .max(32)
    .describe('What it executes at once, by kind'),
  caches: z.array(z.object({ name: z.string().max(32), bytes: count(), limit_bytes: count() })).max(32),
  loop_lag_ms: z
    .object({ p50: z.number(), p99: z.number(), max: z.number() })
    .nullable()
    .describe('How late its event loop ran timers since the last question; null at the first one'),
  resident_bytes: count(),
  open_streams: count().nullable().describe('Event streams and other long answers; null: not a gateway'),
});
export type ProcessInfo = z.infer<typeof ProcessInfo>;

/** Asks every process of the five services about itself. */
export const FleetInfo = scatter({
  name: 'fleet.info',
  request: z.object({}),
  reply: ProcessInfo,
  timeoutMs: 1_000,
});

/** A sandbox that a manager has for a thread. */
export const HeldSandboxInfo = z.object({
  user_id: UserId,
  thread_id: ThreadId,
  sandbox_id: z.string().max(128),
  driver: SandboxDriverKind,
  since: z.iso.datetime().describe('When it was created, or created again'),
  last_used_at: z.iso.datetime(),
  in_use: z.boolean(),
  commands: z
    .array(z.object({ key: z.string().max(200).describe('run_id:tool_call_id'), since: z.iso.datetime() }))
    .max(50)
    .describe('Commands and changes of files that it executes now or that wait'),
  disk_bytes: count().nullable().describe("What the thread's files take, as measured last; null: not measured yet"),
});
export type HeldSandboxInfo = z.infer<typeof HeldSandboxInfo>;

/** Sandboxes of one page at most. */
export const MAX_LISTED_SANDBOXES = 200;

/** Asks every manager for the sandboxes that it has, in the order of user and thread, after a position in this order. */
export const FleetSandboxes = scatter({
  name: 'fleet.sandboxes',
  request: z.object({
    user_id: UserId.optional(),
    after: z.object({ user_id: UserId, thread_id: ThreadId }).optional(),
    /** One more than a page has shows whether there is another one. */
    limit: z
      .number()
      .int()
      .min(1)
      .max(MAX_LISTED_SANDBOXES + 1),
  }),
  reply: z.object({
    manager_id: z.string().min(1).max(64),
    host: z.string().max(255),
    total: count().describe('How many it has, of this user or of all'),
    sandboxes: z.array(HeldSandboxInfo).max(MAX_LISTED_SANDBOXES + 1),
  }),
  timeoutMs: 1_000,
});

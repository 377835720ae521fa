import { z } from 'zod';
import { ThreadId, UserId } from '../../common/ids.js';
import { route } from '../route.js';

const count = () => z.number().int().min(0);

/** The queues of the system; `conversions` are those of the gateway that answers. */
export const QueueKind = z.enum(['runs', 'tasks', 'memory', 'conversions', 'crons', 'webhooks']);
export type QueueKind = z.infer<typeof QueueKind>;

const QueueInfo = z.object({
  kind: QueueKind,
  length: count(),
  oldest_wait_ms: z.number().min(0).describe('0 for an empty queue'),
  users: z
    .array(z.object({ user_id: UserId, waiting: count() }))
    .describe('The 20 users with the most waiting work, among the 1,000 entries that wait longest'),
  is_counted_whole: z.boolean().describe('False: more than 1,000 entries wait, and `users` counts the oldest of them'),
});
export type QueueInfo = z.infer<typeof QueueInfo>;

const WaitingThread = z.object({
  kind: z.enum(['runs', 'tasks']),
  user_id: UserId,
  thread_id: ThreadId,
  since: z.iso.datetime().describe('Admission of the run, or last commit of an owner that was lost'),
  wait_ms: z.number().min(0),
});
export type WaitingThreadInfo = z.infer<typeof WaitingThread>;

const QueuesReply = z.object({
  at: z.iso.datetime(),
  queues: z.array(QueueInfo),
  longest_waiting: z.array(WaitingThread).describe('At most 50, the longest wait first'),
  running: z.object({
    runs: count().describe('Threads whose run is under way'),
    tasks: count(),
  }),
  limits: z.object({
    running_per_user: count().nullable().describe('`runner.max_running_per_user`; null: no limit'),
    tasks: count().describe('`subagents.max_running`'),
    tasks_per_user: count().describe('`subagents.max_running_per_user`'),
  }),
});
export type QueuesReply = z.infer<typeof QueuesReply>;

const get = route({
  name: 'getQueues',
  group: 'Operate',
  method: 'GET',
  path: '/admin/queues',
  role: 'administrator',
  summary: 'What waits in the queues of all users, since when, and for whom.',
  reply: QueuesReply,
});

export const queueRoutes = { get };

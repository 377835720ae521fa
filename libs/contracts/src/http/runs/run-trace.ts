import { z } from 'zod';
import { RunId, UserId } from '../../common/ids.js';
import { ShownMessage } from '../../records/messages.js';
import { RunReply } from '../threads/replies.js';
import { queryInt, route } from '../route.js';
import { ThreadPath } from '../threads/thread-path.js';
import { TraceEntry } from './trace-entries.js';

/**
 * What happened in a run, step by step, from what is stored of it: who executed it when, its model calls, hooks, commits and
 * tool calls, and each request as the model saw it.
 */

const MAX_ENTRIES = 5_000;
const MAX_REQUEST_MESSAGES = 500;

const count = z.int().min(0);

export const TraceReply = z.object({
  run: RunReply,
  retained_until: z.string().nullable().describe('When the trace expires; null while the run has not ended'),
  entries: z
    .array(TraceEntry)
    .describe('Oldest first; empty when no trace is stored, as by a configuration without it'),
  next: z.int().nullable().describe('`after` of the next page; null after the last entry so far'),
});
export type TraceReply = z.infer<typeof TraceReply>;

const Missing = z.object({
  part: z.enum(['system', 'tools', 'messages']),
  reason: z.enum(['expired', 'checkpoint_gone', 'too_large']),
  from: count.optional().describe('Of messages: index of the first one'),
  count: count.optional(),
});

export const RequestReply = z.object({
  run_id: z.string(),
  call: z.int().min(1),
  at: z.string(),
  model: z.string(),
  provider_model: z.string().nullable(),
  checkpoint_id: z.string().nullable().describe('The checkpoint whose messages the request was made from'),
  parameters: z.record(z.string(), z.unknown()).describe('Temperature, limits, thinking: what the call set'),
  system: z.string().nullable(),
  tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.unknown() })).nullable(),
  messages: z
    .array(
      z.object({
        index: count,
        from: z.enum(['state', 'chain']).describe('chain: a middleware added or changed it for this request'),
        message: ShownMessage.nullable(),
      }),
    )
    .describe('One page, which ends early when it gets large'),
  total_messages: count,
  next_offset: z.int().nullable(),
  missing: z.array(Missing).describe('Parts that are not stored any more'),
});
export type RequestReply = z.infer<typeof RequestReply>;

const RunPath = ThreadPath.extend({ run_id: RunId });
const TaskPath = RunPath.extend({ task_id: z.string().min(1).max(100) });
const call = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const ofUser = { user_id: UserId.optional().describe('Administrators only: the user whose thread is meant') };
const page = z.object({
  after: queryInt(0, 0, Number.MAX_SAFE_INTEGER),
  limit: queryInt(1_000, 1, MAX_ENTRIES),
  ...ofUser,
});
const messagePage = z.object({
  offset: queryInt(0, 0, 1_000_000).describe('Index of the first message'),
  limit: queryInt(100, 1, MAX_REQUEST_MESSAGES),
  ...ofUser,
});
const shared = { group: 'Runs', method: 'GET', refusals: [404] } as const;

const trace = route({
  ...shared,
  name: 'getRunTrace',
  path: '/threads/:thread_id/runs/:run_id/trace',
  summary: 'What happened in a run, step by step, also long after its event log has expired.',
  params: RunPath,
  query: page,
  reply: TraceReply,
});

const request = route({
  ...shared,
  name: 'getRunRequest',
  path: '/threads/:thread_id/runs/:run_id/requests/:call',
  summary: 'One request of a run as the model saw it.',
  params: RunPath.extend({ call }),
  query: messagePage,
  reply: RequestReply,
});

const taskTrace = route({
  ...shared,
  name: 'getTaskTrace',
  path: '/threads/:thread_id/runs/:run_id/tasks/:task_id/trace',
  summary: 'What happened in a task of a run, step by step.',
  params: TaskPath,
  query: page,
  reply: TraceReply,
});

const taskRequest = route({
  ...shared,
  name: 'getTaskRequest',
  path: '/threads/:thread_id/runs/:run_id/tasks/:task_id/requests/:call',
  summary: 'One request of a task as its model saw it.',
  params: TaskPath.extend({ call }),
  query: messagePage,
  reply: RequestReply,
});

export const runTraceRoutes = { trace, request, taskTrace, taskRequest };

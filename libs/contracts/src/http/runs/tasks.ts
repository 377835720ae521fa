import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { ShownMessage } from '../../records/messages.js';
import { TokenCounts } from '../../records/token-counts.js';
import { route } from '../route.js';

const group = 'Tasks';

const RunPath = z.object({ thread_id: ThreadId, run_id: z.uuid() });

export const DelegatedTaskReply = z.object({
  task_id: z.string().describe('Id of the tool call that dispatched it'),
  run_id: z.string().describe('The run that dispatched it'),
  subagent_type: z.string(),
  description: z.string(),
  model_name: z.string(),
  status: z.enum(['waiting', 'running', 'completed', 'failed', 'cancelled', 'timed_out']),
  stop_reason: z.string().nullable().describe('Which limit stopped it'),
  error: z.string().nullable(),
  attempt: z.int().describe('Increases each time another process takes it over'),
  created_at: z.string(),
  started_at: z.string().nullable().describe('When a subagent-pool claimed it; its time limit starts then'),
  ended_at: z.string().nullable(),
  llm_call_count: z.int(),
  usage: TokenCounts.nullable(),
});
export type DelegatedTaskReply = z.infer<typeof DelegatedTaskReply>;

export const DelegatedTaskDetailReply = DelegatedTaskReply.extend({
  result: z.string().nullable(),
  messages: z.array(ShownMessage).describe('The task given to the subagent and all further messages, in order'),
});
export type DelegatedTaskDetailReply = z.infer<typeof DelegatedTaskDetailReply>;

const list = route({
  name: 'listTasks',
  group,
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/tasks',
  summary: 'The tasks that a run dispatched to subagents, oldest first.',
  params: RunPath,
  reply: z.array(DelegatedTaskReply),
  refusals: [404],
});

const get = route({
  name: 'getTask',
  group,
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/tasks/:task_id',
  summary: 'One task with its steps.',
  params: RunPath.extend({ task_id: z.string().min(1).max(100) }),
  reply: DelegatedTaskDetailReply,
  refusals: [404],
});

export const taskRoutes = { list, get };

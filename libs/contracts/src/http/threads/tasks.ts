import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { ShownMessage } from '../../records/messages.js';
import { TokenCounts } from '../../records/token-counts.js';
import { queryInt, route } from '../route.js';

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

const MAX_EVENTS = 2_000;
const STEP = 'subagent.step';

/** Values separated by commas, or the key repeated. */
const EventTypes = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',') : value),
  z.array(z.string().max(100)).max(20),
);

const SubagentStep = z.object({
  event_type: z.literal(STEP),
  seq: z.int().min(1).describe('Increases; after_seq of the next page'),
  run_id: z.string(),
  thread_id: z.string(),
  created_at: z.string(),
  metadata: z.object({ task_id: z.string(), message_index: z.int() }),
  content: z.object({
    task_id: z.string(),
    message_index: z.int().describe('As in the task_running event of the step'),
    kind: z.enum(['ai', 'tool']),
    text: z.string(),
    truncated: z.boolean(),
    tool_calls: z
      .array(z.object({ name: z.string(), args: z.unknown(), args_truncated: z.literal(true).optional() }))
      .optional(),
    tool_name: z.string().optional(),
    tool_call_id: z.string().optional(),
  }),
});
export type SubagentStep = z.infer<typeof SubagentStep>;

const events = route({
  name: 'listRunEvents',
  group,
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/events',
  summary: 'Steps of the subagents of a run as DeerFlow stores them. There are no events of other types.',
  params: RunPath,
  query: z.object({
    event_types: EventTypes.optional().describe('Without subagent.step, none are found'),
    task_id: z.string().min(1).max(100).optional(),
    limit: queryInt(500, 1, MAX_EVENTS),
    after_seq: queryInt(0, 0, Number.MAX_SAFE_INTEGER),
  }),
  reply: z.array(SubagentStep).describe('Oldest first; fewer than limit on the last page'),
  refusals: [404],
});

export const taskRoutes = { list, get, events };

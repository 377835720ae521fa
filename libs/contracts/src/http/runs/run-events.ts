import { z } from 'zod';
import { RunId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';
import { ThreadPath } from '../threads/thread-path.js';

/** The event log of a run in DeerFlow's format, made from what is stored of the run. */

const MAX_EVENTS = 2_000;

/** Values separated by commas, or the key repeated. */
const EventTypes = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',') : value),
  z.array(z.string().max(100)).max(20),
);

/** Content of `subagent.step`: an answer of a subagent's model, or the result of one of its tools. */
const SubagentStep = z.object({
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
});
export type SubagentStep = z.infer<typeof SubagentStep>;

export const RunLogEvent = z.object({
  thread_id: z.string(),
  run_id: z.string(),
  seq: z.int().min(1).describe('Increases and never changes for the same filters; after_seq of the next page'),
  event_type: z
    .string()
    .describe(
      'run.start, run.end, run.error, llm.human.input, llm.ai.response, llm.tool.result, subagent.start, subagent.step, ' +
        'subagent.end, or middleware:<name>',
    ),
  category: z.enum(['trace', 'message', 'outputs', 'error', 'middleware', 'subagent']),
  content: z.unknown(),
  metadata: z.record(z.string(), z.unknown()),
  created_at: z.string(),
});
export type RunLogEvent = z.infer<typeof RunLogEvent>;

const list = route({
  name: 'listRunEvents',
  group: 'Runs',
  method: 'GET',
  path: '/threads/:thread_id/runs/:run_id/events',
  summary: 'What happened in a run: start and end, messages, state changes of middlewares, and steps of subagents.',
  params: ThreadPath.extend({ run_id: RunId }),
  query: z.object({
    event_types: EventTypes.optional().describe('Only these; all by default'),
    task_id: z.string().min(1).max(100).optional().describe('Only events of this subagent'),
    limit: queryInt(500, 1, MAX_EVENTS),
    after_seq: queryInt(0, 0, Number.MAX_SAFE_INTEGER),
  }),
  reply: z.array(RunLogEvent).describe('Oldest first, at most 4 MiB or one event; the page after the last is empty'),
  refusals: [404],
});

export const runEventRoutes = { list };

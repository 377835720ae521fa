import { z } from 'zod';
import { CheckpointMetadata, ThreadStatus } from '../../records/thread-state.js';
import { publicRunFields } from '../../records/run-record.js';
import { FreeJson } from '../route.js';

/** Replies to clients in LangGraph's formats. Times are ISO 8601 UTC. */

export const ThreadReply = z.object({
  thread_id: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  metadata: FreeJson,
  status: ThreadStatus,
  config: FreeJson,
  values: FreeJson,
  interrupts: z.record(z.string(), z.array(z.unknown())),
});
export type ThreadReply = z.infer<typeof ThreadReply>;
export const THREAD_FIELDS = ThreadReply.keyof();

const CheckpointReply = z.object({
  thread_id: z.string(),
  checkpoint_ns: z.literal(''),
  checkpoint_id: z.string(),
  checkpoint_map: z.null(),
  follows_head: z
    .literal(true)
    .optional()
    .describe(
      'Set in a history of one entry: a run from this checkpoint continues from the newest checkpoint at that time',
    ),
});
export type CheckpointReply = z.infer<typeof CheckpointReply>;

const TaskReply = z.object({
  id: z.string(),
  name: z.string(),
  path: z.array(z.string()),
  error: z.string().nullable(),
  interrupts: z.array(z.unknown()),
  checkpoint: z.null(),
  state: z.null(),
  result: z.null(),
});
export type TaskReply = z.infer<typeof TaskReply>;

/** `checkpoint: null` and empty values for a thread that never ran. */
export const StateReply = z.object({
  values: FreeJson,
  next: z.array(z.string()),
  tasks: z.array(TaskReply),
  metadata: z.union([CheckpointMetadata, FreeJson]),
  created_at: z.string().nullable(),
  checkpoint: CheckpointReply.nullable(),
  parent_checkpoint: CheckpointReply.nullable(),
});
export type StateReply = z.infer<typeof StateReply>;

export const StateUpdateReply = z.object({ checkpoint: CheckpointReply, checkpoint_id: z.string() });
export type StateUpdateReply = z.infer<typeof StateUpdateReply>;

const tokens = z.number().int();
const cost = z.number().nullable();

/** DeerFlow's format. Includes the tokens of runs that were rolled back or deleted. */
export const TokenUsageReply = z.object({
  thread_id: z.string(),
  total_tokens: tokens,
  total_input_tokens: tokens,
  total_output_tokens: tokens,
  total_runs: tokens.describe('Runs with a model call whose tokens were reported'),
  by_model: z.record(
    z.string(),
    z.object({
      tokens,
      runs: tokens,
      cost: cost.describe(
        'Null: the model has no prices, or an earlier version counted its tokens, without their parts',
      ),
    }),
  ),
  by_caller: z.object({ lead_agent: tokens, subagent: tokens, middleware: tokens }),
  cost: cost.describe(
    'Estimated: all its tokens by the prices of now, those of subagents without what the cache saved. Null: no model that it used has prices, or the cost of one that has is not known. Models without prices cost nothing',
  ),
  currency: z.string().nullable().describe('Of the costs; null: no prices are configured'),
  context_usage: z
    .object({ token_count: tokens, max_context_tokens: tokens, percentage: z.number() })
    .optional()
    .describe("Of the last model call; absent when the model's context size is not configured"),
});
export type TokenUsageReply = z.infer<typeof TokenUsageReply>;

export const RunReply = z.object({ ...publicRunFields, kwargs: FreeJson });
export type RunReply = z.infer<typeof RunReply>;
export const RUN_FIELDS = RunReply.keyof();

export const AssistantReply = z.object({
  assistant_id: z.string(),
  graph_id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  version: z.number().int(),
  config: FreeJson,
  context: FreeJson,
  metadata: FreeJson,
  created_at: z.string(),
  updated_at: z.string(),
});
export type AssistantReply = z.infer<typeof AssistantReply>;
export const ASSISTANT_FIELDS = AssistantReply.keyof();

/** A version of an assistant; `created_at` is the time of the version. */
export const AssistantVersionReply = AssistantReply.omit({ updated_at: true });
export type AssistantVersionReply = z.infer<typeof AssistantVersionReply>;

/** Final values of a run, or `{"__error__": {error, message}}` when it failed. */
export const FinalValues = FreeJson;

/** The second form is for sign-in, so that clients can distinguish its failures. */
export const FailureReply = z.object({
  detail: z.union([z.string(), z.object({ code: z.string(), message: z.string() })]),
});

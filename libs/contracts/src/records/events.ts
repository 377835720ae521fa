import { z } from 'zod';
import { ClientInterrupt } from './interrupts.js';
import { Message } from './messages.js';
import { RunStatus } from './runs.js';
import { CheckpointMetadata, NextNode, StateUpdateSchema } from './thread-state.js';

/**
 * The internal run events: everything that can be published to a run's watchers, whatever stream modes were requested.
 * They are stored in one Redis stream per run, numbered under the fence; each LangGraph stream mode is a pure
 * projection of them in the gateway. No event contains a whole state: `checkpoint` names one.
 */

/** Node names as LangChain's agent graph has them: `model_request`, `tools`, `<middleware>.before_agent`, … */
const node = z.string();
/** Super-step number inside the run; the input is 0. */
const step = z.number().int();

export const ToolCallChunkSchema = z.object({
  name: z.string().nullable(),
  args: z.string(),
  id: z.string().nullable(),
  index: z.number().int(),
  type: z.literal('tool_call_chunk'),
});

export const RunEvent = z.discriminatedUnion('kind', [
  /** First event of each attempt; also after a model attempt whose deltas were discarded. */
  z.object({
    kind: z.literal('run.start'),
    run_id: z.string(),
    thread_id: z.string(),
    attempt: z.number().int(),
    dropped_message_ids: z.array(z.string()),
    /** Head to show to streams of mode `values` after a takeover; null at the first attempt. */
    checkpoint_id: z.string().nullable(),
  }),
  /** A committed checkpoint: `values`, `checkpoints`, `debug`. */
  z.object({
    kind: z.literal('checkpoint'),
    checkpoint_id: z.string(),
    parent_id: z.string().nullable(),
    metadata: CheckpointMetadata,
    next: z.array(NextNode),
    created_at: z.string(),
    /** Those that wait for an answer; absent: none. */
    interrupts: z.array(ClientInterrupt).optional(),
  }),
  /** A node began: `tasks`, `debug`. */
  z.object({ kind: z.literal('task.start'), task_id: z.string(), node, step, triggers: z.array(z.string()) }),
  /** A node ended with an update: `updates`, `tasks`, `debug`, and whole non-AI messages in `messages-tuple`/`messages`. */
  z.object({
    kind: z.literal('task.end'),
    task_id: z.string(),
    node,
    step,
    update: StateUpdateSchema.nullable(),
    error: z.string().nullable(),
    /** The node was stopped by these; absent: it ended. */
    interrupts: z.array(ClientInterrupt).optional(),
  }),
  /** A model call began: `events`. */
  z.object({ kind: z.literal('model.start'), node, step, message_id: z.string(), model: z.string() }),
  /** A piece of an AI message: `messages-tuple`, `messages`, `events`. `usage` is in exactly one delta of a message. */
  z.object({
    kind: z.literal('message.delta'),
    node,
    step,
    message_id: z.string(),
    content: z.string(),
    reasoning: z.string().optional(),
    tool_call_chunks: z.array(ToolCallChunkSchema).optional(),
    usage: z.record(z.string(), z.unknown()).optional(),
    response_metadata: z.record(z.string(), z.unknown()).optional(),
  }),
  /** The whole AI message or tool message: `messages` (complete), `messages-tuple` for tool messages, `events`. */
  z.object({ kind: z.literal('message'), node, step, message: Message }),
  /** Tool lifecycle: `tools`, `events`. */
  z.object({
    kind: z.literal('tool.start'),
    tool_call_id: z.string(),
    name: z.string(),
    args: z.record(z.string(), z.unknown()),
  }),
  z.object({ kind: z.literal('tool.end'), tool_call_id: z.string(), name: z.string(), message: Message }),
  z.object({ kind: z.literal('tool.error'), tool_call_id: z.string(), name: z.string(), error: z.string() }),
  /** Data of a middleware or tool for clients: `custom`. */
  z.object({ kind: z.literal('custom'), data: z.unknown() }),
  /** The error that ended the run: at most one, followed only by `end`. */
  z.object({ kind: z.literal('error'), name: z.string(), message: z.string() }),
  /** The terminal event: exactly one, last, for every status. */
  z.object({ kind: z.literal('end'), status: RunStatus }),
]);
export type RunEvent = z.infer<typeof RunEvent>;
export type RunEventOf<Kind extends RunEvent['kind']> = Extract<RunEvent, { kind: Kind }>;

/** An event with its number in the run's log; numbers start at 1 and increase by one, except where `follows` is there. */
export interface NumberedEvent {
  readonly seq: number;
  readonly event: RunEvent;
  /** The number before this one, when those between were left out after a takeover; read from the log only. */
  readonly follows?: number;
}

import { z } from 'zod';
import { GoalState } from './goal.js';
import { ThreadInterrupts } from './interrupts.js';
import { Message, RemoveMessage } from './messages.js';
import { SandboxDriverKind } from './sandbox-driver.js';

/** The virtual directories of a thread, as tools and prompts see them; host paths never enter the state. */
export const ThreadData = z.object({
  workspace_path: z.string(),
  uploads_path: z.string(),
  outputs_path: z.string(),
});
export type ThreadData = z.infer<typeof ThreadData>;

export const Todo = z.object({ content: z.string(), status: z.enum(['pending', 'in_progress', 'completed']) });
export type Todo = z.infer<typeof Todo>;

/** The sandbox bound to the thread. */
export const SandboxBinding = z.object({ sandbox_id: z.string(), driver: SandboxDriverKind });
export type SandboxBinding = z.infer<typeof SandboxBinding>;

/** A file of the user's last message; paths are virtual. */
export const UploadedFileState = z.object({
  filename: z.string(),
  /** Size in bytes. */
  size: z.number().int(),
  path: z.string(),
  /** Its Markdown, for a document that was converted. */
  markdown_path: z.string().optional(),
});
export type UploadedFileState = z.infer<typeof UploadedFileState>;

/** An image that the model viewed; its bytes are only in the file. */
export const ViewedImage = z.object({ mime_type: z.string(), size: z.number().int().describe('Bytes') });
export type ViewedImage = z.infer<typeof ViewedImage>;

/** Deferred tools that the agent looked up; valid while the catalogue is the same. */
export const PromotedTools = z.object({ catalog_hash: z.string(), names: z.array(z.string()) });
export type PromotedTools = z.infer<typeof PromotedTools>;

/**
 * What the server tells the model besides the conversation, such as the date and the memory: a message in front of the
 * first one, and notes of later changes. Every text is sent as it was first written, as long as the messages around it
 * exist, so that consecutive requests have the same beginning.
 */
export const ThreadContext = z.object({
  /** The message in front of the first message of the thread. */
  text: z.string(),
  /** Later changes, oldest first; each precedes the message with this id. */
  notes: z.array(z.object({ before: z.string(), text: z.string() })),
  /** The text of each section as the last note leaves it, by the section's name. */
  shown: z.record(z.string(), z.string()),
});
export type ThreadContext = z.infer<typeof ThreadContext>;

/** Fields of middlewares, by middleware; null in an update deletes one. */
const MiddlewareFields = z.record(z.string(), z.unknown());

/** Every channel but `messages`. Their merge rules are in core's reducer. */
export const ChannelValues = z.object({
  title: z.string().optional(),
  thread_data: ThreadData.optional(),
  sandbox: SandboxBinding.optional(),
  artifacts: z.array(z.string()).optional(),
  todos: z.array(Todo).optional(),
  uploaded_files: z.array(UploadedFileState).optional(),
  viewed_images: z.record(z.string(), ViewedImage).optional().describe('By virtual path'),
  summary_text: z.string().optional().describe('Summary of the messages that were removed'),
  promoted: PromotedTools.optional(),
  created_agent_name: z.string().optional().describe('The custom agent that was created in this thread'),
  goal: GoalState.optional().describe('What the agent pursues over several answers'),
  extensions: MiddlewareFields.optional().describe('State of custom middlewares'),
  guards: MiddlewareFields.optional().describe('Counters of built-in middlewares, hidden from clients'),
  interrupts: ThreadInterrupts.optional().describe('Questions that wait for a person, hidden from clients'),
  thread_context: ThreadContext.optional().describe('Date, memory and the like for the model, hidden from clients'),
});
export type ChannelValues = z.infer<typeof ChannelValues>;
export type ChannelName = keyof ChannelValues;

export const CHANNEL_NAMES = [
  'title',
  'thread_data',
  'sandbox',
  'artifacts',
  'todos',
  'uploaded_files',
  'viewed_images',
  'summary_text',
  'promoted',
  'created_agent_name',
  'goal',
  'extensions',
  'guards',
  'interrupts',
  'thread_context',
] as const satisfies readonly ChannelName[];

/** Channels that no client sees. */
export type HiddenChannel = 'guards' | 'interrupts' | 'thread_context';

/** The state, or an update of it, without the fields that are hidden from clients. */
export function toClientState<T extends { readonly [name in HiddenChannel]?: unknown }>(
  state: T,
): Omit<T, HiddenChannel> {
  const { guards: _counters, interrupts: _asked, thread_context: _context, ...shown } = state;
  return shown;
}

/** Channels a client may set by `POST /threads/{id}/state` or a run's input; the rest is server-owned. */
export const CLIENT_CHANNELS = ['title', 'todos', 'artifacts'] as const satisfies readonly ChannelName[];

/** What a thread holds at a checkpoint; the JSON clients receive as `values`. */
export const ThreadState = ChannelValues.extend({ messages: z.array(Message) });
export type ThreadState = z.infer<typeof ThreadState>;

/** A change of state as data: messages append, replace by id or remove; channels by their merge rule. */
export interface StateUpdate extends Omit<ChannelValues, 'goal'> {
  readonly messages?: readonly (Message | RemoveMessage)[] | undefined;
  /** Null removes the goal. */
  readonly goal?: GoalState | null | undefined;
}

export const StateUpdateSchema = ChannelValues.extend({
  goal: GoalState.nullish(),
  messages: z.array(z.union([Message, RemoveMessage])).optional(),
});

/**
 * The node at which the loop resumes after a checkpoint; absent when the run has ended. At `after_model` the answer is
 * committed, and its afterModel hooks have not run.
 */
export const NextNode = z.enum(['model_request', 'after_model', 'tools']);
export type NextNode = z.infer<typeof NextNode>;

export const CheckpointSource = z.enum(['input', 'loop', 'update', 'fork']);
export type CheckpointSource = z.infer<typeof CheckpointSource>;

export const CheckpointMetadata = z.looseObject({
  source: CheckpointSource,
  step: z.number().int(),
  run_id: z.string().optional(),
});
export type CheckpointMetadata = z.infer<typeof CheckpointMetadata>;

/** A checkpoint with its state filled in. */
export interface CheckpointView {
  readonly checkpointId: string;
  readonly parentId: string | null;
  readonly createdAt: string;
  readonly metadata: CheckpointMetadata;
  readonly next: readonly NextNode[];
  /** Error of the node in `next`, when the run failed there. */
  readonly error?: { readonly name: string; readonly message: string };
  readonly state: ThreadState;
}

export const ThreadStatus = z.enum(['idle', 'busy', 'interrupted', 'error']);
export type ThreadStatus = z.infer<typeof ThreadStatus>;

/** The thread record: what lists, searches and `GET /threads/{id}` show. Times are ISO 8601 UTC. */
export const ThreadRecord = z.object({
  thread_id: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  status: ThreadStatus,
  values: ChannelValues,
  head: z.string().nullable(),
});
export type ThreadRecord = z.infer<typeof ThreadRecord>;

import { z } from 'zod';
import { CheckpointId, ThreadId } from '../../common/ids.js';
import { END_NODE, RequestedStrategy, RunContextValues, StreamMode } from '../../records/runs.js';
import { NextNode } from '../../records/thread-state.js';
import { MaxTokens, Temperature } from '../../settings/call-settings.js';
import { ClientMetadata, FreeJson, OpenContext, Unsupported } from '../route.js';
import { CommandValues, RunInput } from './client-state.js';
import { Breakpoints, Configurable, refusedRunFields, RootNamespace } from './run-fields.js';

const MAX_ASSISTANT_CHARS = 200;
const MAX_URL_CHARS = 2_048;
/** A year; the configuration sets a lower limit. */
const MAX_AFTER_SECONDS = 31_536_000;

/** The address that gets an event when a run has ended; its host is checked by the gateway. '' counts as none. */
export const WebhookUrl = z.string().max(MAX_URL_CHARS);

/** Context keys that only the server sets; a client's values are dropped. */
const serverOwned = new Set([
  'thread_id',
  'run_id',
  'user_id',
  'is_internal',
  'authz_attributes',
  'channel_user_id',
  'checkpoint_id',
  'checkpoint_ns',
  'scheduled_task',
]);
const isClientKey = ([key, value]: readonly [string, unknown]): boolean =>
  value !== null && !serverOwned.has(key) && !key.startsWith('__') && !key.startsWith('langgraph_auth');

/** The context of a client without null values and keys of the server. */
const ContextJson = FreeJson.transform((value) => Object.fromEntries(Object.entries(value).filter(isClientKey)));

export const RunConfig = z
  .object({
    /** Clamped, never refused: web clients send 1000, and a bad value is no reason to lose a message. */
    recursion_limit: z.unknown().optional(),
    configurable: Configurable.nullish(),
    metadata: ClientMetadata.nullish(),
  })
  .catchall(Unsupported);

const streamModes = z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(StreamMode).max(20));

/** The checkpoint where a run starts: LangGraph's checkpoint object; without an id it means the head. */
export const CheckpointRef = z.object({
  checkpoint_id: CheckpointId.nullish(),
  checkpoint_ns: RootNamespace.nullish(),
  follows_head: z
    .boolean()
    .nullish()
    .describe('As returned by a history of one entry: the newest checkpoint is used instead of this one'),
});

const GotoTarget = z.union([NextNode, z.literal(END_NODE)], {
  error: `must be one of ${[...NextNode.options, END_NODE].join(', ')}`,
});

/** The updates of a command as LangGraph sends them: an object, or a list of [channel, value]. */
const asObject = (value: unknown): unknown =>
  Array.isArray(value) && value.every((pair) => Array.isArray(pair) && pair.length === 2)
    ? Object.fromEntries(value as [string, unknown][])
    : value;

/** The only entry of a list, in which LangGraph's clients may name the node. */
const onlyOne = (value: unknown): unknown =>
  Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;

/** LangGraph's Command. Without any part it counts as absent, as some clients always send one. */
const Command = z
  .object({
    resume: z
      .unknown()
      .optional()
      .describe('The answer to the only open interrupt, or an object with the answer to each by interrupt id'),
    goto: z
      .preprocess(onlyOne, GotoTarget.nullish())
      .describe('The node to continue at; open interrupts are withdrawn'),
    update: z.preprocess(asObject, CommandValues.nullish()).describe('Applied before the run continues'),
  })
  .catchall(Unsupported)
  .transform((command) =>
    Object.values(command).every((part) => part === null || part === undefined) ? undefined : command,
  );

/**
 * Fields that the routes which prepare a regeneration return in addition to the run's body; clients may send them
 * along.
 */
const ofPreparation = {
  target_run_id: z.string().nullish(),
  replacement_human_message_id: z.string().nullish(),
  source_message_ids: z.array(z.string()).nullish(),
};

export const RunFields = z.object({
  assistant_id: z.string().min(1).max(MAX_ASSISTANT_CHARS).describe('Graph name or assistant id'),
  input: RunInput.nullish().describe('null continues from the head without new input'),
  command: Command.nullish().describe('Continues a thread that waits for an answer; not together with input'),
  stream_mode: streamModes.nullish().describe('One mode or a list; default values'),
  stream_subgraphs: z.boolean().nullish(),
  on_disconnect: z.enum(['cancel', 'continue']).nullish(),
  multitask_strategy: RequestedStrategy.nullish().describe(
    'While a run of the thread is in flight: refuse, stop it, undo it, wait for it, or (steer) add the messages to it',
  ),
  if_not_exists: z.enum(['create', 'reject']).nullish(),
  on_completion: z
    .enum(['delete', 'keep'])
    .nullish()
    .describe('Of a stateless run: whether its thread is deleted; refused for a thread with a given id'),
  checkpoint: CheckpointRef.nullish(),
  checkpoint_id: CheckpointId.nullish(),
  config: RunConfig.nullish(),
  context: OpenContext.nullish().describe(
    'Settings of the run: model_name, temperature, max_tokens, thinking_enabled, is_plan_mode, …',
  ),
  metadata: ClientMetadata.nullish(),
  interrupt_before: Breakpoints.nullish(),
  interrupt_after: Breakpoints.nullish(),
  stream_resumable: z.boolean().nullish().describe('Every stream can be resumed'),
  durability: z
    .enum(['sync', 'async', 'exit'])
    .nullish()
    .describe('Every step is stored before the next begins, which is more than each of these asks for'),
  checkpoint_during: z.boolean().nullish().describe('As durability'),
  webhook: WebhookUrl.nullish().describe('URL that gets an event when the run has ended (docs/webhooks.md)'),
  after_seconds: z
    .number()
    .min(0)
    .max(MAX_AFTER_SECONDS)
    .nullish()
    .describe('The run starts no earlier than this after its admission; other runs of the thread may go first'),
  strict_resume: z
    .boolean()
    .nullish()
    .describe('Always: a resume that answers an interrupt that does not wait is a 409, and the thread stays as it was'),
  ...refusedRunFields,
  ...ofPreparation,
});

/** Body of every route that starts a run. Unknown fields, such as feedback_keys, are refused by name. */
export const RunCreate = RunFields.catchall(Unsupported);
export type RunCreate = z.output<typeof RunFields>;

/**
 * The checkpoint that a run starts from; undefined: the newest. Web clients that fetch one entry of history cannot show
 * branches: the checkpoint that they send is the last known head, not a request to go back to it.
 */
export function startCheckpointOf(
  body: Pick<RunCreate, 'checkpoint_id' | 'checkpoint' | 'config'>,
): string | undefined {
  const { checkpoint_id: id, checkpoint, config } = body;
  if (typeof id === 'string') return id;
  if (checkpoint?.follows_head === true) return undefined;
  const configured = config?.configurable?.['checkpoint_id'];
  return checkpoint?.checkpoint_id ?? (typeof configured === 'string' ? configured : undefined);
}

/** The run's settings: `context` over `config.configurable`, without the server's keys. */
export const RunContextInput = ContextJson.transform(
  ({ model, ...context }): Record<string, unknown> =>
    typeof model === 'string' ? { model_name: model, ...context } : context,
).pipe(RunContextValues.extend({ temperature: Temperature.optional(), max_tokens: MaxTokens.optional() }));

/** The limit of model turns for a client's requested value, which may be invalid. */
export function clampRecursionLimit(
  asked: unknown,
  limits: { readonly fallback: number; readonly max: number },
): number {
  if (typeof asked !== 'number' || !Number.isInteger(asked) || asked <= 0) return limits.fallback;
  return Math.min(asked, limits.max);
}

/** The thread id that a stateless run may name in its configurable. */
export const ConfigurableThread = z.object({ thread_id: ThreadId.optional() });

import { z } from 'zod';
import { HumanInputResponse } from '../../records/human-input.js';
import {
  Content,
  FROM_CLIENT,
  type HumanMessage,
  hasPlainUserMarks,
  type SystemMessage,
} from '../../records/messages.js';
import { newId } from '../../common/ids.js';

/** Names that clients and SDKs use for the two types of message that a client may write. */
const aliases: Readonly<Record<string, 'human' | 'system'>> = {
  human: 'human',
  user: 'human',
  HumanMessage: 'human',
  HumanMessageChunk: 'human',
  system: 'system',
  developer: 'system',
  SystemMessage: 'system',
  SystemMessageChunk: 'system',
};

/** Keys of `additional_kwargs` that only the server writes; other keys are stored unchanged. */
const serverOwned = new Set(['original_user_content', 'token_usage_attribution', 'dynamic_context_reminder']);
const isServerOwned = (key: string): boolean =>
  serverOwned.has(key) || key.startsWith('deerflow_') || key.startsWith('subagent_') || key.startsWith('__');

const MAX_ID_CHARS = 255;
const MAX_NAME_CHARS = 255;

const MessageFields = z.object({
  content: Content,
  id: z
    .string()
    .max(MAX_ID_CHARS)
    .regex(/^[^\p{Cc}]*$/u, 'must not hold control characters')
    .nullish(),
  name: z.string().max(MAX_NAME_CHARS).nullish(),
  additional_kwargs: z.looseObject({ human_input_response: HumanInputResponse.nullish() }).nullish(),
});

/** Type or role of a message as sent by the client. */
export const roleOf = (value: object): unknown =>
  'type' in value && value.type !== undefined ? value.type : 'role' in value ? value.role : undefined;

/** `{lc, type: "constructor", id, kwargs}`: the result of `JSON.stringify` for a LangChain message object. */
const Constructed = z.object({
  lc: z.literal(1),
  type: z.literal('constructor'),
  id: z.array(z.string()).min(1),
  kwargs: z.record(z.string(), z.unknown()),
});

/** Converts plain text and `[role, content]` pairs, which LangGraph accepts, into an object. */
export function expandShorthand(value: unknown): unknown {
  if (typeof value === 'string') return { type: 'human', content: value };
  if (Array.isArray(value) && value.length === 2 && typeof value[0] === 'string') {
    return { type: value[0], content: value[1] as unknown };
  }
  if (typeof value !== 'object' || value === null || !('lc' in value)) return value;
  const constructed = Constructed.safeParse(value);
  return constructed.success ? { ...constructed.data.kwargs, type: constructed.data.id.at(-1) } : value;
}

/**
 * A message that a client may write: human or system, by any of its usual names. A missing id is created, server-owned
 * keys are removed from `additional_kwargs`, and everything else is returned as it was sent.
 */
export const ClientMessage = z
  .unknown()
  .transform((given, context): HumanMessage | SystemMessage => readClientMessage(expandShorthand(given), context));

/** The message in `value`, which is not in a short form; what is wrong with it is added to `context`. */
export function readClientMessage(value: unknown, context: z.RefinementCtx): HumanMessage | SystemMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    context.addIssue({ code: 'custom', message: 'must be a message' });
    return z.NEVER;
  }
  const role = roleOf(value);
  const type = typeof role === 'string' && Object.hasOwn(aliases, role) ? aliases[role] : undefined;
  if (type === undefined) {
    context.addIssue({
      code: 'custom',
      message: 'must be of type human or system; other messages are written by the server only',
    });
    return z.NEVER;
  }
  const fields = MessageFields.safeParse(value);
  if (!fields.success) {
    for (const { path, message } of fields.error.issues) context.addIssue({ code: 'custom', path: [...path], message });
    return z.NEVER;
  }
  return build(type, fields.data);
}

function build(type: 'human' | 'system', fields: z.output<typeof MessageFields>): HumanMessage | SystemMessage {
  const { content, id, name, additional_kwargs } = fields;
  const clientKeys = Object.fromEntries(Object.entries(additional_kwargs ?? {}).filter(([key]) => !isServerOwned(key)));
  const marks = hasPlainUserMarks(name, clientKeys) ? {} : { [FROM_CLIENT]: true };
  return {
    type,
    id: id === undefined || id === null || id === '' ? newId() : id,
    content,
    ...(name === undefined || name === null ? {} : { name }),
    additional_kwargs: { ...clientKeys, ...marks },
    response_metadata: {},
  };
}

const MAX_MESSAGES = 1_000;

/** A list of messages; a single message need not be in a list. */
export const messageList = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(
    (value): unknown => (Array.isArray(value) && !isPair(value) ? value : [value]),
    z.array(item).max(MAX_MESSAGES),
  );

/** A list of client messages. */
export const ClientMessages = messageList(ClientMessage);

/** `["user", "hi"]` is one message, `["hi", {…}]` are two; two strings are a pair when the first is a role. */
const isPair = (value: readonly unknown[]): boolean =>
  value.length === 2 && typeof value[0] === 'string' && Object.hasOwn(aliases, value[0]);

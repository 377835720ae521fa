import { z } from 'zod';
import { Content } from '../../records/messages.js';
import { type ClientMessage, messageList, roleOf, expandShorthand, readClientMessage } from './client-messages.js';

/** Names that SDKs use for the two types of message that the server writes. */
const serverTypes: Readonly<Record<string, 'ai' | 'tool'>> = {
  ai: 'ai',
  assistant: 'ai',
  AIMessage: 'ai',
  AIMessageChunk: 'ai',
  tool: 'tool',
  ToolMessage: 'tool',
  ToolMessageChunk: 'tool',
};

const MAX_ID_CHARS = 255;
const MAX_CALLS = 1_000;
const Id = z
  .string()
  .max(MAX_ID_CHARS)
  .regex(/^[^\p{Cc}]*$/u, 'must not hold control characters');
const optionalContent = Content.nullish().transform((content) => content ?? '');

const ReturnedAi = z.object({
  id: Id.nullish(),
  content: optionalContent,
  tool_calls: z
    .array(z.object({ id: z.string().nullish(), name: z.string(), args: z.unknown() }))
    .max(MAX_CALLS)
    .nullish(),
});

const ReturnedTool = z.object({
  id: Id.nullish(),
  content: optionalContent,
  tool_call_id: z.string().min(1).max(MAX_ID_CHARS),
  name: z.string().max(MAX_ID_CHARS).nullish(),
  status: z.enum(['success', 'error']).nullish(),
});

/** An answer of the model in a run's input, which the client sends back from the thread. */
export type ReturnedAi = { readonly type: 'ai' } & z.output<typeof ReturnedAi>;
/** A tool's result in a run's input: sent back, or the client's own answer to a call that has none. */
export type ReturnedTool = { readonly type: 'tool' } & z.output<typeof ReturnedTool>;

/** A message of a run's input. A returned message is checked against the thread later. */
export type InputMessage = z.output<typeof ClientMessage> | ReturnedAi | ReturnedTool;

const typeOf = (value: unknown): 'ai' | 'tool' | undefined => {
  const role = typeof value === 'object' && value !== null ? roleOf(value) : undefined;
  return typeof role === 'string' && Object.hasOwn(serverTypes, role) ? serverTypes[role] : undefined;
};

export const InputMessage = z.unknown().transform((given, context): InputMessage => {
  const value = expandShorthand(given);
  const type = typeOf(value);
  if (type === undefined) return readClientMessage(value, context);
  const parsed =
    type === 'ai'
      ? ReturnedAi.transform((fields): ReturnedAi => ({ type: 'ai', ...fields })).safeParse(value)
      : ReturnedTool.transform((fields): ReturnedTool => ({ type: 'tool', ...fields })).safeParse(value);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path: [...path], message });
  return z.NEVER;
});

/** The messages of a run's input. */
export const InputMessages = messageList(InputMessage);

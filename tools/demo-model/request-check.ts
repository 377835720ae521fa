import { z } from 'zod';
import { ModelApiError } from './api-error.js';

const FunctionName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must match ^[a-zA-Z0-9_-]{1,64}$');
/** OpenAI refuses ids over 40 characters, so `call_` before a UUID is already one too long. */
const CallId = z.string().min(1).max(40);

const ToolCall = z.looseObject({
  id: CallId,
  type: z.literal('function'),
  function: z.looseObject({ name: FunctionName, arguments: z.string() }),
});

const Part = z.looseObject({ type: z.string(), text: z.string().optional() });
const Content = z.union([z.string(), z.array(Part).min(1)]);
const Name = z
  .string()
  .regex(/^[^\s<|\\/>]+$/, 'must match ^[^\\s<|\\\\/>]+$')
  .max(64)
  .optional();

const Message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer', 'user']), content: Content, name: Name }),
  z.looseObject({
    role: z.literal('assistant'),
    content: Content.nullish(),
    name: Name,
    tool_calls: z.array(ToolCall).min(1).max(128).optional(),
  }),
  z.looseObject({ role: z.literal('tool'), content: Content, tool_call_id: CallId }),
]);

const Tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: FunctionName,
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});

const ChatRequestShape = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  tools: z.array(Tool).min(1).max(128).optional(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
});

/** A request body that passed {@link checkChatRequest}. */
export type ChatRequest = z.infer<typeof ChatRequestShape>;
export type ChatMessage = ChatRequest['messages'][number];

/**
 * Returns the body of a chat completion as a typed value, if OpenAI would accept it.
 * Unknown keys are accepted, because compatible servers have their own.
 *
 * @throws ModelApiError 400 with OpenAI's text: a wrong shape, tool calls and tool messages that do not pair,
 *   arguments that are not JSON, options that need another option.
 */
export function checkChatRequest(body: unknown): ChatRequest {
  const parsed = ChatRequestShape.safeParse(body);
  if (!parsed.success) throw refusal(parsed.error);
  checkOptions(parsed.data);
  checkPairing(parsed.data.messages);
  return parsed.data;
}

function refusal(error: z.ZodError): ModelApiError {
  const issue = error.issues[0];
  const param = issue?.path.map((key) => (typeof key === 'number' ? `[${key}]` : String(key))).join('.') ?? '';
  const where = param === '' ? 'the request body' : `'${param}'`;
  return invalid(`Invalid value for ${where}: ${issue?.message ?? 'wrong shape'}`, param, issue?.code ?? null);
}

function checkOptions(request: ChatRequest): void {
  if (request.stream_options && request.stream !== true) {
    throw invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options');
  }
  if (request.tools !== undefined) return;
  for (const key of ['tool_choice', 'parallel_tool_calls'] as const) {
    if (request[key] !== undefined) throw invalid(`'${key}' is only allowed when 'tools' are specified.`, key);
  }
}

/** Each call of an assistant message is answered once, by the tool messages directly after it, and by nothing else. */
function checkPairing(messages: readonly ChatMessage[]): void {
  let open = new Map<string, number>();
  messages.forEach((message, at) => {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) throw orphan(at, message.tool_call_id);
      return;
    }
    refuseUnanswered(open);
    open = message.role === 'assistant' ? callsOf(message, at) : new Map<string, number>();
  });
  refuseUnanswered(open);
}

function callsOf(message: Extract<ChatMessage, { role: 'assistant' }>, at: number): Map<string, number> {
  if (message.tool_calls === undefined && (message.content ?? null) === null) {
    throw invalid("An assistant message needs 'content' or 'tool_calls'.", `messages.[${at}].content`);
  }
  const open = new Map<string, number>();
  for (const call of message.tool_calls ?? []) {
    if (open.has(call.id)) {
      throw invalid(
        `Duplicate value for 'tool_call_id' of '${call.id}' in message[${at}]`,
        `messages.[${at}].tool_calls`,
      );
    }
    checkArguments(call.function.arguments, `messages.[${at}].tool_calls`, call.id);
    open.set(call.id, at);
  }
  return open;
}

function checkArguments(text: string, param: string, id: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) throw invalid(`The arguments of tool call '${id}' are not valid JSON.`, param);
    throw cause;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`The arguments of tool call '${id}' are not a JSON object.`, param);
  }
}

function refuseUnanswered(open: ReadonlyMap<string, number>): void {
  const first = open.values().next();
  if (first.done) return;
  throw invalid(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...open.keys()].join(', ')}`,
    `messages.[${first.value}].role`,
  );
}

function orphan(at: number, id: string): ModelApiError {
  return invalid(
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. " +
      `Nothing asked for tool_call_id '${id}', or it was answered before.`,
    `messages.[${at}].role`,
  );
}

function invalid(message: string, param: string, code: string | null = null): ModelApiError {
  return new ModelApiError(400, message, { param, code });
}

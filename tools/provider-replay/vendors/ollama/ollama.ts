import { z } from 'zod';
import { chatVendor, envelopeOf, wantsUsage } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { type CollectedAnswer, wholeCalls } from '../../chat/collected-answer.js';
import { hasCalls, isJsonObject } from '../../chat/conversation.js';
import { plainUsage } from '../../chat/usage.js';
import type { EndReason, VendorDefinition } from '../../framework/vendor.js';
import { ollamaProblems, ollamaStreamError, refuse, shapeRefusal } from './ollama-errors.js';

const IMAGE = /^data:(image\/(jpeg|jpg|png|webp))?;base64,/;

const Part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.union([z.string(), z.looseObject({ url: z.string() })]) }),
]);

const Message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(Part)]).nullish(),
  reasoning: z.string().optional(),
  name: z.string().optional(),
  tool_call_id: z.string().optional(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
});

/** The fields of ollama's ChatCompletionRequest; it ignores all others. */
const OllamaChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  max_tokens: z.int().nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  temperature: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  top_p: z.number().nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  tools: z.array(z.looseObject({ type: z.string(), function: z.looseObject({ name: z.string() }) })).nullish(),
  reasoning: z.looseObject({ effort: z.string().optional() }).nullish(),
  reasoning_effort: z.string().nullish(),
});

type OllamaChatRequest = z.infer<typeof OllamaChatRequest>;

const FIELDS = new Set(Object.keys(OllamaChatRequest.shape));
const MESSAGE_FIELDS = new Set(Object.keys(Message.shape));
const EFFORTS = ['high', 'medium', 'low', 'max', 'none'];

/** Ollama's OpenAI-compatible endpoint, with a model that thinks. */
export const ollama: VendorDefinition = {
  name: 'ollama',
  open: () =>
    chatVendor({
      basePath: '/v1',
      schema: OllamaChatRequest,
      shapeRefusal,
      rules: checkRules,
      ignored: ignoredFields,
      style: ollamaStyle,
      problems: ollamaProblems,
    }),
};

function effortOf({ reasoning, reasoning_effort }: OllamaChatRequest): string | undefined {
  return reasoning?.effort ?? reasoning_effort ?? undefined;
}

function checkRules(request: OllamaChatRequest): void {
  const effort = effortOf(request);
  if (effort !== undefined && !EFFORTS.includes(effort)) {
    const text = `invalid reasoning value: '${effort}' (must be "high", "medium", "low", "max", or "none")`;
    throw refuse('reasoning effort', text);
  }
  for (const message of request.messages) {
    for (const { function: made } of message.tool_calls ?? []) {
      if (!isJsonObject(made.arguments)) throw refuse('arguments', 'invalid tool call arguments');
    }
    if ((message.content ?? null) === null && !hasCalls(message))
      throw refuse('content', 'invalid message content type: <nil>');
    for (const part of Array.isArray(message.content) ? message.content : []) checkImage(part);
  }
}

/** An image must be in the request; a URL is not fetched. */
function checkImage(part: z.infer<typeof Part>): void {
  if (part.type !== 'image_url') return;
  const url = typeof part.image_url === 'string' ? part.image_url : part.image_url.url;
  if (!IMAGE.test(url)) throw refuse('image', 'invalid image input');
}

function ignoredFields(request: OllamaChatRequest): string[] {
  const top = Object.keys(request).filter((key) => !FIELDS.has(key));
  const inside = request.messages.flatMap((message, at) =>
    Object.keys(message)
      .filter((key) => !MESSAGE_FIELDS.has(key))
      .map((key) => `messages[${at}].${key}`),
  );
  return [...top, ...inside];
}

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'stop',
  refusal: 'stop',
};

/** Calls come whole, all in one chunk; each delta has the role. */
function ollamaStyle(request: OllamaChatRequest, responseId: string): ChunkStyle {
  const thinks = effortOf(request) !== 'none';
  return {
    envelope: { ...envelopeOf(request, `chatcmpl-${responseId}`), system_fingerprint: 'fp_ollama' },
    deltas(delta) {
      if ('reasoning_content' in delta) {
        return thinks ? [{ role: 'assistant', content: '', reasoning: delta.reasoning_content }] : [];
      }
      return 'content' in delta ? [{ role: 'assistant', content: delta.content }] : [];
    },
    closing: (answer) =>
      answer.calls.length === 0 ? [] : [{ role: 'assistant', content: '', tool_calls: indexedCalls(answer) }],
    lastDelta: () => ({ role: 'assistant', content: '' }),
    finishReason: ({ reason }) => FINISH[reason],
    usage: plainUsage,
    usageIn: wantsUsage(request) ? 'own' : 'none',
    message: (answer) => ({
      content: answer.text,
      ...(thinks && answer.thinking !== '' ? { reasoning: answer.thinking } : {}),
      ...(answer.calls.length === 0 ? {} : { tool_calls: indexedCalls(answer) }),
    }),
    fail: ollamaStreamError,
  };
}

function indexedCalls(answer: CollectedAnswer): object[] {
  return wholeCalls(answer).map((call, index) => ({ ...call, index }));
}

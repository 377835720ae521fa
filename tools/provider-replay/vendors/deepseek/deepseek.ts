import { z } from 'zod';
import type { Delta } from '../../../demo-model/reply.js';
import { chatVendor, envelopeOf, wantsUsage } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { wholeCalls } from '../../chat/collected-answer.js';
import { hasCalls, turnsOf } from '../../chat/conversation.js';
import * as fields from '../../chat/fields.js';
import { IssuedReasoning } from '../../chat/issued-reasoning.js';
import { pairingFault } from '../../chat/pairing.js';
import { plainUsage } from '../../chat/usage.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { deepseekProblems, deepseekStreamError, pairingRefusal, refuse, shapeRefusal } from './deepseek-errors.js';

const Text = z.union([z.string(), z.array(z.looseObject({ type: z.literal('text'), text: z.string() })).min(1)]);

const Message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: Text }),
  z.looseObject({ role: z.literal('user'), content: Text }),
  z.looseObject({
    role: z.literal('assistant'),
    content: Text.nullish(),
    reasoning_content: z.string().nullish(),
    prefix: z.boolean().optional(),
    tool_calls: z
      .array(
        z.looseObject({
          id: z.string().min(1),
          type: z.literal('function'),
          function: z.looseObject({ name: fields.functionName, arguments: z.string() }),
        }),
      )
      .nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), content: Text, tool_call_id: z.string().min(1) }),
]);

const DeepseekChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  thinking: z.looseObject({ type: z.enum(['enabled', 'disabled']) }).nullish(),
  reasoning_effort: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra']).nullish(),
  max_tokens: fields.tokenLimit,
  response_format: z.looseObject({ type: z.enum(['text', 'json_object']) }).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature: fields.numberFrom(0, 2),
  top_p: fields.numberFrom(0, 1),
  tools: z
    .array(z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: fields.functionName }) }))
    .max(128)
    .nullish(),
  tool_choice: fields.toolChoice.nullish(),
});

type DeepseekChatRequest = z.infer<typeof DeepseekChatRequest>;

/** DeepSeek's chat completions. */
export const deepseek: VendorDefinition = {
  name: 'deepseek',
  open: () => {
    const issued = new IssuedReasoning();
    return chatVendor({
      basePath: '',
      path: /^(\/v1|\/beta)?\/chat\/completions$/,
      schema: DeepseekChatRequest,
      shapeRefusal,
      rules(request) {
        checkMessages(request);
        if (isThinking(request)) checkReasoning(request, issued);
      },
      style: (request, responseId) => deepseekStyle(request, responseId, issued),
      cache: { least: 64, step: 64 },
      problems: deepseekProblems,
    });
  },
};

/** Thinking is on unless it is turned off; the old name of the chat model is an alias without it. */
function isThinking({ model, thinking }: DeepseekChatRequest): boolean {
  if (thinking) return thinking.type === 'enabled';
  return model !== 'deepseek-chat';
}

function checkMessages({ messages, stream, stream_options }: DeepseekChatRequest): void {
  if (stream_options && stream !== true)
    throw refuse('option needs another', 'stream_options should be set along with stream = true');
  for (const message of messages) {
    if (message.role !== 'assistant' || hasCalls(message) || (message.content ?? null) !== null) continue;
    throw refuse('empty assistant message', 'Invalid assistant message: content or tool_calls must be set');
  }
  const fault = pairingFault(messages);
  if (fault !== undefined) throw pairingRefusal(fault);
}

/** Between two user messages with a tool call among them, every assistant message needs its reasoning, an empty one too. */
function checkReasoning({ messages }: DeepseekChatRequest, issued: IssuedReasoning): void {
  for (const turn of turnsOf(messages)) {
    if (!turn.some(({ message }) => hasCalls(message))) continue;
    for (const { message } of turn) {
      if (message.role !== 'assistant') continue;
      const text = message.reasoning_content ?? undefined;
      if (text === undefined || issued.contradicts(message.tool_calls ?? [], text)) {
        throw refuse(
          'reasoning_content',
          'The `reasoning_content` in the thinking mode must be passed back to the API.',
        );
      }
    }
  }
}

function deepseekStyle(request: DeepseekChatRequest, responseId: string, issued: IssuedReasoning): ChunkStyle {
  const thinks = isThinking(request);
  return {
    envelope: { ...envelopeOf(request, responseId), system_fingerprint: 'fp_e72d3c7f66' },
    choice: { logprobs: null },
    before: () => [': keep-alive\n\n'],
    first: { role: 'assistant', content: thinks ? null : '', ...(thinks ? { reasoning_content: '' } : {}) },
    deltas: (delta) => deepseekDeltas(delta, thinks),
    lastDelta: () => ({ content: '', ...(thinks ? { reasoning_content: null } : {}) }),
    finishReason: ({ reason }) => FINISH[reason],
    finished: (answer) => {
      if (thinks) issued.remember(answer);
    },
    usage: deepseekUsage,
    usageIn: wantsUsage(request) ? 'own' : 'last',
    nullUsage: true,
    message: (answer) => ({
      content: answer.text,
      ...(thinks ? { reasoning_content: answer.thinking } : {}),
      ...(answer.calls.length === 0 ? {} : { tool_calls: wholeCalls(answer) }),
    }),
    fail: deepseekStreamError,
  };
}

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
  refusal: 'content_filter',
};

function deepseekDeltas(delta: Delta, thinks: boolean): Record<string, unknown>[] {
  if ('reasoning_content' in delta) return thinks ? [{ content: null, ...delta }] : [];
  return 'content' in delta && thinks ? [{ ...delta, reasoning_content: null }] : [delta];
}

function deepseekUsage(end: AnswerEnd): Record<string, unknown> {
  const { input, reasoning } = end.usage;
  return {
    ...plainUsage(end),
    prompt_tokens_details: { cached_tokens: input.cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
    prompt_cache_hit_tokens: input.cached,
    prompt_cache_miss_tokens: input.total - input.cached,
  };
}

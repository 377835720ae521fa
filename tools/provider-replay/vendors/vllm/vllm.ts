import { z } from 'zod';
import type { Delta } from '../../../demo-model/reply.js';
import { chatVendor, envelopeOf, wantsUsage } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { wholeCalls } from '../../chat/collected-answer.js';
import { isJsonObject } from '../../chat/conversation.js';
import * as fields from '../../chat/fields.js';
import { plainUsage } from '../../chat/usage.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { refuse, shapeRefusal, vllmProblems, vllmStreamError } from './vllm-errors.js';

const Parts = z.array(z.looseObject({ type: z.string().optional(), text: z.string().optional() }));
const Content = z.union([z.string(), Parts]);

const Message = z.looseObject({
  role: z.string().min(1),
  content: Content.nullish(),
  reasoning: z.string().nullish(),
  name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
});

const VllmChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  include_reasoning: z.boolean().optional(),
  response_format: z.looseObject({ type: z.enum(['text', 'json_object', 'json_schema', 'structural_tag']) }).nullish(),
  chat_template_kwargs: fields.jsonObject.nullish(),
  tools: z
    .array(z.looseObject({ type: z.literal('function').optional(), function: z.looseObject({ name: z.string() }) }))
    .nullish(),
  tool_choice: fields.toolChoice.nullish(),
});

type VllmChatRequest = z.infer<typeof VllmChatRequest>;

/** vLLM's OpenAI-compatible server, with a reasoning parser and the chat template of a Qwen model. */
export const vllm: VendorDefinition = {
  name: 'vllm',
  open: () =>
    chatVendor({
      basePath: '/v1',
      schema: VllmChatRequest,
      shapeRefusal,
      rules: checkRules,
      ignored: ignoredReasoning,
      style: vllmStyle,
      cache: { least: 16, step: 16 },
      problems: vllmProblems,
      callId: (unique, index) => `chatcmpl-tool-${unique}${String(index).padStart(4, '0')}`,
    }),
};

function checkRules(request: VllmChatRequest): void {
  if (request.stream_options && request.stream !== true) {
    throw refuse('option needs another', 'Stream options can only be defined when `stream=True`.', 'stream_options');
  }
  if (request.tools?.length === 0) {
    const text = '`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.';
    throw refuse('empty tools', text, 'tools');
  }
  checkToolChoice(request);
  checkTemplate(request);
}

function checkToolChoice({ tools, tool_choice: choice }: VllmChatRequest): void {
  if (!choice || choice === 'none') return;
  if (!tools) throw refuse('option needs another', 'When using `tool_choice`, `tools` must be set.', 'tool_choice');
  if (typeof choice === 'string' || tools.some((tool) => tool.function.name === choice.function.name)) return;
  throw refuse(
    'tool_choice',
    'The tool specified in `tool_choice` does not match any of the specified `tools`',
    'tool_choice',
  );
}

/** What the template raises, and what cannot be rendered. */
function checkTemplate({ messages }: VllmChatRequest): void {
  if (messages.length === 0) throw refuse('chat template', 'No messages provided.');
  for (const [at, { role, tool_calls }] of messages.entries()) {
    if (role === 'system' && at > 0) throw refuse('chat template', 'System message must be at the beginning.');
    if (!['system', 'user', 'assistant', 'tool'].includes(role))
      throw refuse('chat template', 'Unexpected message role.');
    for (const { function: made } of tool_calls ?? []) {
      if (isJsonObject(made.arguments)) continue;
      throw refuse('arguments', `Invalid JSON in the arguments of tool call '${made.name}' of message ${at}.`);
    }
  }
  if (!messages.some(({ role }) => role === 'user')) throw refuse('chat template', 'No user query found in messages.');
}

/** Reasoning is read from `reasoning` alone. */
function ignoredReasoning({ messages }: VllmChatRequest): string[] {
  return messages.flatMap((message, at) =>
    ['reasoning_content', 'reasoning_details']
      .filter((key) => message[key] !== undefined)
      .map((key) => `messages[${at}].${key}`),
  );
}

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'stop',
  refusal: 'stop',
};

function vllmStyle(request: VllmChatRequest, responseId: string): ChunkStyle {
  const shows = request.include_reasoning !== false;
  return {
    headers: { 'x-request-id': responseId },
    envelope: envelopeOf(request, `chatcmpl-${responseId}`),
    choice: { logprobs: null },
    first: { role: 'assistant', content: '' },
    deltas: (delta) => vllmDeltas(delta, shows),
    lastDelta: () => ({ content: '' }),
    lastChoice: () => ({ stop_reason: null }),
    finishReason: ({ reason }) => FINISH[reason],
    usage: vllmUsage,
    usageIn: wantsUsage({ stream_options: { include_usage: request.stream_options?.include_usage ?? false } })
      ? 'own'
      : 'none',
    message: (answer) => ({
      content: answer.text === '' ? null : answer.text,
      refusal: null,
      annotations: null,
      audio: null,
      function_call: null,
      reasoning: shows && answer.thinking !== '' ? answer.thinking : null,
      ...(answer.calls.length === 0 ? {} : { tool_calls: wholeCalls(answer) }),
    }),
    fail: vllmStreamError,
  };
}

function vllmDeltas(delta: Delta, shows: boolean): Record<string, unknown>[] {
  if ('reasoning_content' in delta) return shows ? [{ reasoning: delta.reasoning_content }] : [];
  return [delta];
}

function vllmUsage(end: AnswerEnd): Record<string, unknown> {
  const { cached } = end.usage.input;
  return { ...plainUsage(end), prompt_tokens_details: cached > 0 ? { cached_tokens: cached } : null };
}

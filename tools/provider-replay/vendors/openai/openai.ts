import { randomBytes } from 'node:crypto';
import type { Delta } from '../../../demo-model/reply.js';
import { type ChunkStyle, chunkRenderer } from '../../chat/chunk-renderer.js';
import { readShape } from '../../chat/shape.js';
import { answerProblem } from '../../framework/problem.js';
import type { AnswerEnd, EndReason, Vendor, VendorDefinition } from '../../framework/vendor.js';
import { openaiProblems, openaiStreamError, shapeRefusal } from './openai-errors.js';
import { OpenaiChatRequest } from './openai-request.js';
import { checkOpenaiRules } from './openai-rules.js';

/** OpenAI's chat completions. */
export const openai: VendorDefinition = { name: 'openai', open: () => openaiServer };

const openaiServer: Vendor = {
  basePath: '/v1',
  path: /^\/v1\/chat\/completions$/,
  authorized: (headers, apiKey) => headers.authorization === `Bearer ${apiKey}`,
  callId: (unique, index) => `call_${unique}${String(index).padStart(4, '0')}`,
  refuse: (problem) => answerProblem(openaiProblems, problem),
  check({ body }) {
    const request = readShape(OpenaiChatRequest, body, shapeRefusal);
    checkOpenaiRules(request);
    return {
      chat: request,
      stream: request.stream === true,
      createRenderer: (responseId) => chunkRenderer(openaiStyle(request, responseId)),
    };
  },
};

function openaiStyle(request: OpenaiChatRequest, responseId: string): ChunkStyle {
  const options = request.stream_options;
  const obfuscation =
    options?.include_obfuscation === false ? {} : { obfuscation: randomBytes(5).toString('base64url') };
  const includeUsage = options?.include_usage === true;
  return {
    headers: { 'x-request-id': `req_${responseId}`, 'openai-processing-ms': '41' },
    envelope: {
      id: `chatcmpl-${responseId}`,
      created: Math.floor(Date.now() / 1000),
      model: request.model,
      service_tier: 'default',
      system_fingerprint: null,
      ...(request.stream === true ? obfuscation : {}),
    },
    choice: { logprobs: null },
    first: { role: 'assistant', content: '', refusal: null },
    deltas: openaiDeltas,
    finishReason: ({ reason }) => FINISH[reason],
    closing: (_answer, { reason }) => (reason === 'refusal' ? [{ refusal: REFUSAL }] : []),
    usage: openaiUsage,
    usageIn: includeUsage ? 'own' : 'none',
    nullUsage: true,
    message: (answer, { reason }) => ({
      content: reason === 'refusal' || (answer.text === '' && answer.calls.length > 0) ? null : answer.text,
      refusal: reason === 'refusal' ? REFUSAL : null,
      annotations: [],
      ...(answer.calls.length === 0
        ? {}
        : {
            tool_calls: answer.calls.map(({ id, name, args }) => ({
              id,
              type: 'function',
              function: { name, arguments: args },
            })),
          }),
    }),
    fail: openaiStreamError,
  };
}

const REFUSAL = "I'm sorry, but I can't assist with that.";

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
  refusal: 'stop',
};

/** OpenAI does not show the reasoning of its models in chat completions. */
export const openaiDeltas = (delta: Delta): Record<string, unknown>[] => ('reasoning_content' in delta ? [] : [delta]);

export function openaiUsage({ usage: { input, output, reasoning } }: AnswerEnd): Record<string, unknown> {
  return {
    prompt_tokens: input.total,
    completion_tokens: output,
    total_tokens: input.total + output,
    prompt_tokens_details: { cached_tokens: input.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

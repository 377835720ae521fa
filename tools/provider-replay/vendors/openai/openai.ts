import { randomBytes } from 'node:crypto';
import type { Delta } from '../../../demo-model/reply.js';
import { chatVendor, envelopeOf, wantsUsage } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { type CollectedAnswer, wholeCalls } from '../../chat/collected-answer.js';
import { openaiUsage } from '../../chat/usage.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { openaiProblems, openaiStreamError, shapeRefusal } from './openai-errors.js';
import { OpenaiChatRequest } from './openai-request.js';
import { checkOpenaiRules } from './openai-rules.js';

/** OpenAI's chat completions. */
export const openai: VendorDefinition = {
  name: 'openai',
  open: () =>
    chatVendor({
      basePath: '/v1',
      schema: OpenaiChatRequest,
      shapeRefusal,
      rules: checkOpenaiRules,
      style: openaiStyle,
      cache: { least: 1024, step: 128 },
      problems: openaiProblems,
    }),
};

/** OpenAI's wire shape. */
export function openaiStyle(request: OpenaiChatRequest, responseId: string): ChunkStyle {
  const padded = request.stream === true && request.stream_options?.include_obfuscation !== false;
  return {
    headers: { 'x-request-id': `req_${responseId}`, 'openai-processing-ms': '41' },
    envelope: {
      ...envelopeOf(request, `chatcmpl-${responseId}`),
      service_tier: 'default',
      system_fingerprint: null,
      ...(padded ? { obfuscation: randomBytes(5).toString('base64url') } : {}),
    },
    choice: { logprobs: null },
    first: { role: 'assistant', content: '', refusal: null },
    deltas: openaiDeltas,
    finishReason: ({ reason }) => OPENAI_FINISH[reason],
    closing: (_answer, { reason }) => (reason === 'refusal' ? [{ refusal: REFUSAL }] : []),
    usage: openaiUsage,
    usageIn: wantsUsage(request) ? 'own' : 'none',
    nullUsage: true,
    message: openaiMessage,
    fail: openaiStreamError,
  };
}

const REFUSAL = "I'm sorry, but I can't assist with that.";

export const OPENAI_FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
  refusal: 'stop',
};

/** OpenAI does not show the reasoning of its models in chat completions. */
function openaiDeltas(delta: Delta): Record<string, unknown>[] {
  return 'reasoning_content' in delta ? [] : [delta];
}

function openaiMessage(answer: CollectedAnswer, { reason }: AnswerEnd): Record<string, unknown> {
  const refused = reason === 'refusal';
  return {
    content: refused || (answer.text === '' && answer.calls.length > 0) ? null : answer.text,
    refusal: refused ? REFUSAL : null,
    annotations: [],
    ...(answer.calls.length === 0 ? {} : { tool_calls: wholeCalls(answer) }),
  };
}

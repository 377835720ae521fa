import { createHash } from 'node:crypto';
import type { Delta } from '../../../demo-model/reply.js';
import { chatVendor, envelopeOf } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { type CollectedAnswer, wholeCalls } from '../../chat/collected-answer.js';
import { plainUsage } from '../../chat/usage.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { mistralProblems, mistralStreamError, shapeRefusal } from './mistral-errors.js';
import { MistralChatRequest } from './mistral-request.js';
import { checkMistralRules } from './mistral-rules.js';

type Json = Record<string, unknown>;

/** Mistral's chat completions. */
export const mistral: VendorDefinition = {
  name: 'mistral',
  open: () =>
    chatVendor({
      basePath: '/v1',
      schema: MistralChatRequest,
      shapeRefusal,
      rules: checkMistralRules,
      style: mistralStyle,
      problems: mistralProblems,
      callId: (unique, index) => nineCharacters(`${unique}.${index}`),
    }),
};

function nineCharacters(seed: string): string {
  return createHash('sha256')
    .update(seed)
    .digest('base64')
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9);
}

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'stop',
  refusal: 'stop',
};

/** Calls come whole in the last chunk, with the finish reason and the usage; thinking is a list of content. */
function mistralStyle(request: MistralChatRequest, responseId: string): ChunkStyle {
  const thinks = isThinking(request);
  return {
    envelope: envelopeOf(request, responseId),
    first: { role: 'assistant', content: '' },
    deltas: (delta) => mistralDeltas(delta, thinks),
    lastDelta: (answer) => ({
      content: '',
      ...(answer.calls.length === 0 ? {} : { tool_calls: indexedCalls(answer) }),
    }),
    finishReason: ({ reason }) => FINISH[reason],
    usage: mistralUsage,
    usageIn: 'last',
    message: (answer) => ({
      content: contentOf(answer, thinks),
      tool_calls: answer.calls.length === 0 ? null : indexedCalls(answer),
    }),
    fail: mistralStreamError,
  };
}

function isThinking({ model, prompt_mode, reasoning_effort }: MistralChatRequest): boolean {
  return /^magistral/.test(model) || prompt_mode === 'reasoning' || (reasoning_effort ?? 'none') !== 'none';
}

const thinkChunk = (text: string): Json => ({ type: 'thinking', thinking: [{ type: 'text', text }] });

function mistralDeltas(delta: Delta, thinks: boolean): Json[] {
  if ('reasoning_content' in delta) return thinks ? [{ content: [thinkChunk(delta.reasoning_content)] }] : [];
  return 'content' in delta ? [delta] : [];
}

function indexedCalls(answer: CollectedAnswer): Json[] {
  return wholeCalls(answer).map(({ id, function: made }, index) => ({ id, function: made, index }));
}

function contentOf({ text, thinking }: CollectedAnswer, thinks: boolean): unknown {
  if (!thinks || thinking === '') return text;
  return [thinkChunk(thinking), ...(text === '' ? [] : [{ type: 'text', text }])];
}

function mistralUsage(end: AnswerEnd): Json {
  const { cached } = end.usage.input;
  return { ...plainUsage(end), ...(cached > 0 ? { prompt_tokens_details: { cached_tokens: cached } } : {}) };
}

import type { Delta } from '../../../demo-model/reply.js';
import { chatVendor, envelopeOf } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { type CollectedAnswer, wholeCalls } from '../../chat/collected-answer.js';
import { InlineThinking } from '../../chat/inline-thinking.js';
import { IssuedReasoning } from '../../chat/issued-reasoning.js';
import { plainUsage } from '../../chat/usage.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { minimaxProblems, minimaxStreamError, shapeRefusal } from './minimax-errors.js';
import { checkMinimaxRules, type IssuedByMinimax, MINIMAX_IGNORES, MinimaxChatRequest } from './minimax-rules.js';

type Json = Record<string, unknown>;

/** MiniMax's OpenAI-compatible chat completions. */
export const minimax: VendorDefinition = {
  name: 'minimax',
  open: () => {
    const issued = { inline: new IssuedReasoning(), split: new IssuedReasoning() };
    return chatVendor({
      basePath: '/v1',
      schema: MinimaxChatRequest,
      shapeRefusal,
      rules: (request) => checkMinimaxRules(request, issued),
      ignored: (request) => MINIMAX_IGNORES.filter((key) => request[key] !== undefined),
      style: (request, responseId) => minimaxStyle(request, responseId, issued),
      cache: { least: 512, step: 1 },
      problems: minimaxProblems,
      callId: (unique, index) => `call_function_${unique}_${index + 1}`,
    });
  },
};

const OPEN = '<think>\n';
const CLOSE = '\n</think>\n\n';

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
  refusal: 'stop',
};

/** Thinking is inside the content unless reasoning_split is on; then it is in reasoning_content and, as the same text, in reasoning_details. */
function minimaxStyle(request: MinimaxChatRequest, responseId: string, issued: IssuedByMinimax): ChunkStyle {
  const split = request.reasoning_split === true;
  const tags = new InlineThinking(OPEN, CLOSE);
  return {
    envelope: {
      ...envelopeOf(request, responseId),
      input_sensitive: false,
      output_sensitive: false,
      input_sensitive_type: 0,
      output_sensitive_type: 0,
    },
    first: { role: 'assistant', content: '', name: 'MiniMax AI', audio_content: '' },
    deltas: (delta) => (split ? splitDeltas(delta) : inlineDeltas(delta, tags)),
    closing: () => {
      const end = tags.close();
      return end === '' ? [] : [{ role: 'assistant', content: end }];
    },
    lastDelta: () => ({ role: '', content: '' }),
    finishReason: ({ reason }) => FINISH[reason],
    finished: (answer) => {
      if (answer.thinking === '') return;
      if (split) issued.split.remember(answer);
      else issued.inline.remember(answer, inlineContent(answer));
    },
    usage: minimaxUsage,
    usageIn: 'own',
    besideUsage: { base_resp: { status_code: 0, status_msg: '' } },
    message: (answer) => ({
      content: split ? answer.text : inlineContent(answer),
      name: 'MiniMax AI',
      audio_content: '',
      ...(split && answer.thinking !== '' ? reasoningFields(answer.thinking) : {}),
      ...(answer.calls.length === 0 ? {} : { tool_calls: wholeCalls(answer) }),
    }),
    fail: minimaxStreamError,
  };
}

function inlineContent({ text, thinking }: CollectedAnswer): string {
  return thinking === '' ? text : OPEN + thinking + CLOSE + text;
}

function inlineDeltas(delta: Delta, tags: InlineThinking): Json[] {
  const content = tags.piece(delta);
  if (content !== undefined) return [{ role: 'assistant', content }];
  const end = tags.close();
  return [...(end === '' ? [] : [{ role: 'assistant', content: end }]), { role: 'assistant', ...delta }];
}

function splitDeltas(delta: Delta): Json[] {
  if ('reasoning_content' in delta) return [{ role: 'assistant', ...reasoningFields(delta.reasoning_content) }];
  return [{ role: 'assistant', ...delta }];
}

function reasoningFields(text: string): Json {
  const detail = { type: 'reasoning.text', id: 'reasoning-text-1', format: 'MiniMax-response-v1', index: 0, text };
  return { reasoning_content: text, reasoning_details: [detail] };
}

function minimaxUsage(end: AnswerEnd): Json {
  const { input, reasoning } = end.usage;
  return {
    ...plainUsage(end),
    total_characters: 0,
    completion_tokens_details: { reasoning_tokens: reasoning },
    ...(input.cached > 0 ? { prompt_tokens_details: { cached_tokens: input.cached } } : {}),
  };
}

import { chatVendor, envelopeOf, wantsUsage } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { type CollectedAnswer, wholeCalls } from '../../chat/collected-answer.js';
import { IssuedReasoning } from '../../chat/issued-reasoning.js';
import { plainUsage } from '../../chat/usage.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { kimiProblems, kimiStreamError, shapeRefusal } from './kimi-errors.js';
import { isThinking, KIMI_FIELDS, KimiChatRequest } from './kimi-request.js';
import { checkKimiRules } from './kimi-rules.js';

/** Moonshot's Kimi platform. */
export const kimi: VendorDefinition = {
  name: 'kimi',
  open: () => {
    const issued = new IssuedReasoning();
    return chatVendor({
      basePath: '/v1',
      schema: KimiChatRequest,
      shapeRefusal,
      rules: (request) => checkKimiRules(request, issued),
      ignored: (request) => Object.keys(request).filter((key) => !KIMI_FIELDS.has(key)),
      style: (request, responseId) => kimiStyle(request, responseId, issued),
      cache: { least: 256, step: 256 },
      problems: kimiProblems,
    });
  },
};

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
  refusal: 'stop',
};

/** Usage is in the last choice, and with include_usage in a chunk of its own as well. */
function kimiStyle(request: KimiChatRequest, responseId: string, issued: IssuedReasoning): ChunkStyle {
  const thinks = isThinking(request);
  return {
    headers: { 'msh-request-id': responseId },
    envelope: { ...envelopeOf(request, `chatcmpl-${responseId}`), system_fingerprint: 'fpv0_0f3c1b4e' },
    first: { role: 'assistant', content: '' },
    deltas: (delta) => ('reasoning_content' in delta && !thinks ? [] : [delta]),
    finishReason: ({ reason }) => FINISH[reason],
    finished: (answer) => {
      if (thinks) issued.remember(answer);
    },
    lastChoice: (end) => ({ usage: kimiUsage(end) }),
    usage: kimiUsage,
    usageIn: wantsUsage(request) ? 'own' : 'none',
    message: (answer) => kimiMessage(answer, thinks),
    fail: kimiStreamError,
  };
}

function kimiMessage(answer: CollectedAnswer, thinks: boolean): Record<string, unknown> {
  return {
    content: answer.text,
    ...(thinks ? { reasoning_content: answer.thinking } : {}),
    ...(answer.calls.length === 0 ? {} : { tool_calls: wholeCalls(answer) }),
  };
}

function kimiUsage(end: AnswerEnd): Record<string, unknown> {
  const { cached } = end.usage.input;
  return { ...plainUsage(end), ...(cached > 0 ? { cached_tokens: cached } : {}) };
}

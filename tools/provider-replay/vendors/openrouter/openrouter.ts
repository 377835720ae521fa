import type { Delta } from '../../../demo-model/reply.js';
import { chatVendor, envelopeOf } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import { type CollectedAnswer, wholeCalls } from '../../chat/collected-answer.js';
import { pairingFault } from '../../chat/pairing.js';
import { openaiUsage } from '../../chat/usage.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { openrouterProblems, openrouterStreamError, pairingRefusal, shapeRefusal } from './openrouter-errors.js';
import { OpenrouterChatRequest } from './openrouter-request.js';
import { type Family, familyOf, ReasoningDetails } from './reasoning-details.js';

type Json = Record<string, unknown>;

/** OpenRouter. */
export const openrouter: VendorDefinition = {
  name: 'openrouter',
  open: ({ extras }) => {
    const details = new ReasoningDetails(extras);
    return chatVendor({
      basePath: '/api/v1',
      schema: OpenrouterChatRequest,
      shapeRefusal,
      rules(request) {
        const fault = pairingFault(request.messages);
        if (fault !== undefined) throw pairingRefusal(fault);
        details.check(request);
      },
      style: (request, responseId) => openrouterStyle(request, responseId, details),
      cache: { least: 1024, step: 128 },
      problems: openrouterProblems,
    });
  },
};

const PROCESSING = ': OPENROUTER PROCESSING\n\n';

const PROVIDERS: Record<Family, string> = {
  anthropic: 'Anthropic',
  google: 'Google AI Studio',
  openai: 'OpenAI',
  other: 'DeepInfra',
};

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
  refusal: 'stop',
};

/** Comments keep the connection open; each delta has role and content; the usage is always there. */
function openrouterStyle(request: OpenrouterChatRequest, responseId: string, details: ReasoningDetails): ChunkStyle {
  const family = familyOf(request.model);
  const shows = request.reasoning?.exclude !== true;
  const envelope = { ...envelopeOf(request, `gen-${responseId}`), provider: PROVIDERS[family] };
  let sealed = false;
  const seal = (answer: CollectedAnswer): Json[] => {
    if (sealed || !shows) return [];
    sealed = true;
    const detail = details.sealOfThinking(family, answer.thinking);
    return detail === undefined ? [] : [reasoningDelta([detail])];
  };
  return {
    headers: { 'x-generation-id': `gen-${responseId}` },
    envelope,
    choice: { logprobs: null },
    before: () => [PROCESSING, PROCESSING],
    deltas(delta, answer) {
      if (!('reasoning_content' in delta)) return [...seal(answer), openrouterDelta(delta)];
      return shows
        ? [
            {
              ...reasoningDelta([details.fragment(family, delta.reasoning_content)]),
              reasoning: delta.reasoning_content,
            },
          ]
        : [];
    },
    closing(answer) {
      const ofCalls = details.sealOfCalls(family, answer.calls);
      return [...seal(answer), ...(ofCalls === undefined ? [] : [reasoningDelta([ofCalls])])];
    },
    beforeLast: () => [PROCESSING],
    lastDelta: () => ({ role: 'assistant', content: '' }),
    lastChoice: ({ reason }) => ({ native_finish_reason: reason }),
    finishReason: ({ reason }) => FINISH[reason],
    usage: openrouterUsage,
    usageIn: 'own',
    message: (answer) => ({
      content: answer.text,
      refusal: null,
      ...(shows
        ? {
            reasoning: answer.thinking === '' ? null : answer.thinking,
            reasoning_details: details.whole(family, answer),
          }
        : {}),
      ...(answer.calls.length === 0 ? {} : { tool_calls: wholeCalls(answer) }),
    }),
    fail: (problem) => openrouterStreamError(problem, envelope),
  };
}

const reasoningDelta = (reasoning_details: Json[]): Json => ({
  role: 'assistant',
  content: '',
  reasoning: null,
  reasoning_details,
});

function openrouterDelta(delta: Delta): Json {
  return { role: 'assistant', ...('tool_calls' in delta ? { content: null } : {}), ...delta };
}

/** The cost is in credits. */
function openrouterUsage(end: AnswerEnd): Json {
  const { input, output } = end.usage;
  return { ...openaiUsage(end), cost: (input.total + 4 * output) / 1e6, is_byok: false };
}

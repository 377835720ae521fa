import { chatVendor, envelopeOf, wantsUsage } from '../../chat/chat-vendor.js';
import type { ChunkStyle } from '../../chat/chunk-renderer.js';
import type { CollectedAnswer, CollectedCall } from '../../chat/collected-answer.js';
import { isJsonObject } from '../../chat/conversation.js';
import { InlineThinking } from '../../chat/inline-thinking.js';
import { pairingFault } from '../../chat/pairing.js';
import type { AnswerEnd, EndReason, VendorDefinition } from '../../framework/vendor.js';
import { geminiProblems, geminiStreamError, pairingRefusal, refuse, shapeRefusal } from './gemini-errors.js';
import { GeminiChatRequest } from './gemini-request.js';
import { GeminiSignatures } from './gemini-signatures.js';

type Json = Record<string, unknown>;

/** Gemini's OpenAI endpoint (Gemini Developer API). */
export const gemini: VendorDefinition = {
  name: 'gemini',
  open: ({ extras }) => {
    const signatures = new GeminiSignatures(extras);
    return chatVendor({
      basePath: '/v1beta/openai',
      schema: GeminiChatRequest,
      shapeRefusal,
      rules(request) {
        const fault = pairingFault(request.messages);
        if (fault !== undefined) throw pairingRefusal(fault);
        checkArguments(request);
        signatures.check(request);
      },
      style: (request, responseId) => geminiStyle(request, responseId, signatures),
      cache: { least: 1024, step: 1 },
      problems: geminiProblems,
      callId: (unique, index) => `function-call-${unique}${index}`,
    });
  },
};

function checkArguments({ messages }: GeminiChatRequest): void {
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const { function: made } of message.tool_calls ?? []) {
      if (!isJsonObject(made.arguments))
        throw refuse('arguments', `Invalid function call arguments for '${made.name}': not a JSON object.`);
    }
  }
}

/**
 * Calls come whole, without `index`, each in a delta of its own; with flash models the signature follows in one more delta. The reason
 * is `stop` whether there are calls or not, and completion_tokens leave thoughts out.
 */
function geminiStyle(request: GeminiChatRequest, responseId: string, signatures: GeminiSignatures): ChunkStyle {
  const thinking = new InlineThinking('<thought>', '</thought>');
  const showsThoughts = request.extra_body?.google.thinking_config?.include_thoughts === true;
  const trailing = request.model.includes('flash');
  return {
    envelope: envelopeOf(request, responseId),
    omitsNullFinish: true,
    deltas(delta) {
      const isThought = 'reasoning_content' in delta;
      if (isThought && !showsThoughts) return [];
      const content = thinking.piece(delta);
      if (content === undefined) return [];
      const extra = isThought ? { extra_content: { google: { thought: true } } } : {};
      return [{ content, role: 'assistant', ...extra }];
    },
    closing(answer) {
      const end = thinking.close();
      const last = end === '' ? [] : [{ content: end, role: 'assistant' }];
      return [...last, ...callDeltas(answer, { signatures, trailing })];
    },
    lastDelta: (answer) => ({
      role: 'assistant',
      ...(answer.text === '' || answer.calls.length > 0
        ? {}
        : { content: '', ...signed(signatures.ofText(wholeText(answer, showsThoughts))) }),
    }),
    finishReason: ({ reason }, answer) =>
      isMalformed(answer) ? 'function_call_filter: MALFORMED_FUNCTION_CALL' : FINISH[reason],
    usage: geminiUsage,
    usageIn: wantsUsage(request) ? 'last' : 'none',
    message: (answer) => ({
      ...(answer.calls.length > 0 && answer.text === '' ? {} : { content: wholeText(answer, showsThoughts) }),
      ...(answer.calls.length === 0 || isMalformed(answer) ? {} : { tool_calls: signedCalls(answer, signatures) }),
    }),
    fail: geminiStreamError,
  };
}

const FINISH: Record<EndReason, string> = {
  stop: 'stop',
  tool_calls: 'stop',
  length: 'length',
  content_filter: 'content_filter: SAFETY',
  refusal: 'content_filter: PROHIBITED_CONTENT',
};

const signed = (thought_signature: string): Json => ({ extra_content: { google: { thought_signature } } });

/** Google's models that write calls with wrong arguments are stopped; no call is shown then. */
const isMalformed = ({ calls }: CollectedAnswer): boolean => calls.some(({ args }) => !isJsonObject(args));

function callDeltas(
  answer: CollectedAnswer,
  { signatures, trailing }: { signatures: GeminiSignatures; trailing: boolean },
): Json[] {
  if (isMalformed(answer)) return [];
  return answer.calls.flatMap((call, index) => {
    const plain = callJson(call);
    if (index > 0) return [callDelta(plain)];
    const extra = signed(signatures.ofCall(call));
    if (!trailing) return [callDelta({ ...plain, ...extra })];
    return [callDelta(plain), callDelta({ ...extra, function: { arguments: '' }, id: call.id, type: 'function' })];
  });
}

function signedCalls({ calls }: CollectedAnswer, signatures: GeminiSignatures): Json[] {
  return calls.map((call, index) => ({ ...callJson(call), ...(index === 0 ? signed(signatures.ofCall(call)) : {}) }));
}

const callDelta = (call: Json): Json => ({ role: 'assistant', tool_calls: [call] });

const callJson = ({ id, name, args }: CollectedCall): Json => ({
  function: { arguments: args, name },
  id,
  type: 'function',
});

function wholeText({ text, thinking }: CollectedAnswer, showsThoughts: boolean): string {
  return showsThoughts && thinking !== '' ? `<thought>${thinking}</thought>${text}` : text;
}

function geminiUsage({ usage: { input, output, reasoning } }: AnswerEnd): Json {
  return {
    completion_tokens: output - reasoning,
    prompt_tokens: input.total,
    total_tokens: input.total + output,
    ...(input.cached > 0 ? { prompt_tokens_details: { cached_tokens: input.cached } } : {}),
  };
}

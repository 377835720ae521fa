import type { AiMessage } from '@caribou/contracts';
import type { AgentMiddleware } from '@caribou/core';
import { callNamesOf, finishReasonOf, isVisible, lastAnswer, terminationOf, withNote } from '../messages/answer.js';

export interface SafetyFinishOptions {
  readonly enabled?: boolean;
}

/** Finish reasons of an answer that a filter stopped: OpenAI, Anthropic, Gemini, Bedrock, Zhipu. */
const SAFETY_REASONS: ReadonlySet<string> = new Set([
  'content_filter',
  'content_filtered',
  'refusal',
  'safety',
  'image_safety',
  'blocklist',
  'prohibited_content',
  'image_prohibited_content',
  'spii',
  'recitation',
  'image_recitation',
  'guardrail_intervened',
  'sensitive',
]);

const NOTE =
  'The model provider stopped this answer by its safety filter. Please rephrase the request or narrow it down.';
const CALLS_NOTE = `${NOTE} Nothing that the answer was about to do was carried out, as it may be incomplete.`;

/**
 * Drops the tool calls of an answer that the provider's filter stopped, as their arguments may be truncated and the
 * model would try to repair the effects. The run ends with stop reason `safety`, and a visible note says so when there
 * is no other text or a call was dropped.
 */
export function safetyFinish({ enabled = true }: SafetyFinishOptions = {}): AgentMiddleware {
  return {
    name: 'safety-finish',
    async afterModel(state, run) {
      const answer = enabled ? lastAnswer(state) : undefined;
      const reason = answer && finishReasonOf(answer);
      if (answer === undefined || reason === undefined || !SAFETY_REASONS.has(reason)) return undefined;
      const dropped = callNamesOf(answer);
      const termination = terminationOf(reason, dropped);
      run.recordDecision('safety-finish', 'stopped', { reason, dropped: dropped.length });
      await run.emit({ kind: 'custom', data: { type: 'safety_termination', ...termination } });
      return { update: { messages: [stopForSafety(answer, termination)] }, stopReason: 'safety' };
    },
  };
}

function stopForSafety(answer: AiMessage, termination: ReturnType<typeof terminationOf>): AiMessage {
  const message = {
    ...answer,
    additional_kwargs: { ...answer.additional_kwargs, safety_termination: termination },
  };
  const hadCalls = termination.suppressed_tool_call_count > 0;
  if (!hadCalls && isVisible(answer.content)) return message;
  const content = withNote(answer.content, hadCalls ? CALLS_NOTE : NOTE);
  return { ...message, content, tool_calls: [], invalid_tool_calls: [] };
}

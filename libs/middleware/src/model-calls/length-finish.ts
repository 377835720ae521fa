import type { AiMessage, InvalidToolCall, ToolCall } from '@caribou/contracts';
import type { AgentMiddleware } from '@caribou/core';
import { callNamesOf, finishReasonOf, isVisible, lastAnswer, terminationOf, withNote } from '../messages/answer.js';

/** Finish reasons of an answer that reached the output limit. */
const LENGTH_REASONS: ReadonlySet<string> = new Set(['length', 'max_tokens', 'max_output_tokens', 'model_length']);

/** Note for an answer that the adapter ended at the product's own limit. */
const noteOfLimit = (chars: number): string =>
  `The answer reached the limit of ${chars} characters for one answer before it was complete. Send a message to go on.`;
const NOTE = 'The answer reached the longest output of the model before it was complete. Send a message to go on.';
const CUT_CALL =
  'The answer reached the longest output of the model, and this call was cut off. Write less at once: for a long file, begin it with a part and append the others with further calls.';

/**
 * Records that an answer was cut at the model's output limit: in `additional_kwargs.model_length_termination`, and as
 * stop reason `model_length_capped` if the run ends with it. Complete tool calls are executed; the result of a
 * truncated one is an error that asks the model to write less at once. An answer without visible content gets a visible
 * note.
 */
export function lengthFinish(): AgentMiddleware {
  return {
    name: 'length-finish',
    async afterModel(state, run) {
      const answer = lastAnswer(state);
      const reason = answer && finishReasonOf(answer);
      if (answer === undefined || reason === undefined || !LENGTH_REASONS.has(reason)) return undefined;
      const message = recordTermination(answer, reason);
      run.recordDecision('length-finish', 'capped', { reason, cut: message.invalid_tool_calls.length });
      return { update: { messages: [message] }, stopReason: 'model_length_capped' };
    },
  };
}

function recordTermination(answer: AiMessage, reason: string): AiMessage {
  const { whole, cut } = splitCalls(answer);
  const limit = answer.response_metadata['answer_limit_chars'];
  const termination = {
    ...terminationOf(
      reason,
      cut.map(({ name }) => name),
    ),
    ...(typeof limit === 'number' ? { limit_chars: limit } : {}),
  };
  return {
    ...answer,
    content:
      isVisible(answer.content) || callNamesOf(answer).length > 0
        ? answer.content
        : withNote(answer.content, typeof limit === 'number' ? noteOfLimit(limit) : NOTE),
    tool_calls: whole,
    invalid_tool_calls: cut,
    additional_kwargs: { ...answer.additional_kwargs, model_length_termination: termination },
  };
}

interface SplitCalls {
  readonly whole: ToolCall[];
  readonly cut: InvalidToolCall[];
}

/**
 * Calls are streamed one after the other, so only the last can be truncated. Arguments that parse are complete, except
 * empty ones, which may have been cut before they began.
 */
function splitCalls({ tool_calls: valid, invalid_tool_calls: invalid }: AiMessage): SplitCalls {
  const cut = invalid.map((call) => ({ ...call, error: CUT_CALL }));
  const last = valid.at(-1);
  if (cut.length > 0 || last === undefined || Object.keys(last.args).length > 0) return { whole: valid, cut };
  const { name, id } = last;
  return {
    whole: valid.slice(0, -1),
    cut: [{ name, id, args: '', error: CUT_CALL, type: 'invalid_tool_call' }],
  };
}

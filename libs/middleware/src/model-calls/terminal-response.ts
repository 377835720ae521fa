import type { AiMessage } from '@caribou/contracts';
import { type AgentMiddleware, runSlot } from '@caribou/core';
import { z } from 'zod';
import { callNamesOf, isVisible, lastAnswer } from '../messages/answer.js';
import { createHiddenMessage } from '../messages/hidden-message.js';

/** Set when the run has retried. */
const retry = runSlot('terminal-response', z.object({}));

const HINT = [
  '<system-reminder>',
  'Your last answer was empty: it had neither text that the person can see nor a tool call. Thoughts are not shown.',
  'Answer now: give your final answer as text, or go on with a tool call.',
  '</system-reminder>',
].join('\n');

const EMPTY = 'The model ended without an answer, twice. Please try again, or choose another model.';

/**
 * Prevents a run from ending with an empty answer. The first one is removed, and the model is called once more with a
 * hint, which stays in the thread as a hidden message; the second one in a run becomes a visible text, marked as a failure of the model, and ends
 * the run as an error.
 */
export function terminalResponse(): AgentMiddleware {
  return {
    name: 'terminal-response',
    async afterModel(state, run) {
      const answer = lastAnswer(state);
      if (answer === undefined || !isEmpty(answer)) return undefined;
      if (retry.read(state, run) !== undefined) {
        run.recordDecision('terminal-response', 'gave_up');
        return { update: { messages: [toFailedAnswer(answer, run)] } };
      }
      run.recordDecision('terminal-response', 'retry');
      const hint = createHiddenMessage('empty_answer_reminder', HINT);
      return {
        update: { messages: [{ type: 'remove', id: answer.id }, hint], ...retry.write({}, run) },
        again: true,
      };
    },
  };
}

const isEmpty = (answer: AiMessage): boolean => callNamesOf(answer).length === 0 && !isVisible(answer.content);

const toFailedAnswer = (answer: AiMessage, { runId }: { readonly runId: string }): AiMessage => ({
  ...answer,
  content: EMPTY,
  additional_kwargs: {
    ...answer.additional_kwargs,
    deerflow_error_fallback: true,
    error_type: 'EmptyAnswer',
    error_reason: 'empty_answer',
    error_detail: 'empty_answer',
    run_id: runId,
  },
});

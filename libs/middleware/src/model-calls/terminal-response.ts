import { type AiMessage, type HumanMessage, type Message, newId } from '@caribou/contracts';
import { type AgentMiddleware, runSlot } from '@caribou/core';
import { z } from 'zod';
import { callNamesOf, isVisible, lastAnswer } from '../messages/answer.js';

/** Set when the run has retried, with the id of the message before the retry; '' when there was none. */
const retry = runSlot('terminal-response', z.object({ behind: z.string() }));

const HINT = [
  '<system-reminder>',
  'Your last answer was empty: it had neither text that the person can see nor a tool call. Thoughts are not shown.',
  'Answer now: give your final answer as text, or go on with a tool call.',
  '</system-reminder>',
].join('\n');

const EMPTY = 'The model ended without an answer, twice. Please try again, or choose another model.';

/**
 * Prevents a run from ending with an empty answer. The first one is removed, and the model is called once more with a
 * hint in that request only; the second one in a run becomes a visible text, marked as a failure of the model, and ends
 * the run as an error.
 */
export function terminalResponse(): AgentMiddleware {
  return {
    name: 'terminal-response',
    wrapModelCall: (request, next, run) => {
      const tried = retry.read(request.state, run);
      if (tried === undefined || !isBehind(request.state.messages, tried.behind)) return next(request);
      return next({ ...request, messages: [...request.messages, hint()] });
    },
    async afterModel(state, run) {
      const answer = lastAnswer(state);
      if (answer === undefined || !isEmpty(answer)) return undefined;
      if (retry.read(state, run) !== undefined) {
        run.recordDecision('terminal-response', 'gave_up');
        return { update: { messages: [toFailedAnswer(answer, run)] } };
      }
      run.recordDecision('terminal-response', 'retry');
      const behind = state.messages[state.messages.lastIndexOf(answer) - 1]?.id ?? '';
      return {
        update: { messages: [{ type: 'remove', id: answer.id }], ...retry.write({ behind }, run) },
        again: true,
      };
    },
  };
}

const isEmpty = (answer: AiMessage): boolean => callNamesOf(answer).length === 0 && !isVisible(answer.content);

/** Whether the model has not answered since the message. */
function isBehind(messages: readonly Message[], id: string): boolean {
  const at = messages.findLastIndex((message) => message.id === id);
  return (at >= 0 || id === '') && messages.slice(at + 1).every(({ type }) => type !== 'ai');
}

const hint = (): HumanMessage => ({
  type: 'human',
  id: `terminal-response:${newId()}`,
  name: 'empty_answer_reminder',
  content: HINT,
  additional_kwargs: { hide_from_ui: true },
  response_metadata: {},
});

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

import type { AnswerEnd } from '../framework/vendor.js';

/** The three counts that all vendors of chat completions have. */
export function plainUsage({ usage: { input, output } }: AnswerEnd): Record<string, unknown> {
  return { prompt_tokens: input.total, completion_tokens: output, total_tokens: input.total + output };
}

/** The counts in OpenAI's shape. */
export function openaiUsage(end: AnswerEnd): Record<string, unknown> {
  const { input, reasoning } = end.usage;
  return {
    ...plainUsage(end),
    prompt_tokens_details: { cached_tokens: input.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

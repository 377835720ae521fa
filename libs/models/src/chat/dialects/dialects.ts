import type { ModelConfig } from '@caribou/config';
import type { Dialect } from './dialect.js';

/** What most servers accept. Reasoning at the beginning of the content, as servers without a reasoning parser send it, is split off. */
const generic: Dialect = {
  userNames: true,
  callIds: 'openai',
  emptyAnswers: true,
  userAfterTool: true,
  maxTokensField: 'max_tokens',
  streamOptions: true,
  jsonMode: true,
  fields: {},
  reasoningField: 'reasoning_content',
  sendsReasoning: false,
  missingReasoning: undefined,
  requiresReasoningOf: 'calls',
  thinkingTag: 'think',
  thinkingChunks: false,
  extrasOf: 'model',
};

/**
 * "Create chat completion", platform.openai.com, November 2026: `max_tokens` is deprecated and refused by reasoning models; ids of
 * calls have at most 40 characters; reasoning is not shown.
 */
const openai: Dialect = { ...generic, maxTokensField: 'max_completion_tokens', thinkingTag: undefined };

/** "Azure OpenAI reasoning models", learn.microsoft.com, November 2026: they only work with `max_completion_tokens`. */
const azure: Dialect = openai;

/**
 * "Chat Completions API", docs.aws.amazon.com/bedrock, November 2026: OpenAI's fields. Open models begin their content with
 * `<reasoning>`.
 */
const bedrock: Dialect = {
  ...generic,
  userNames: false,
  maxTokensField: 'max_completion_tokens',
  thinkingTag: 'reasoning',
};

/**
 * "Thinking Mode", api-docs.deepseek.com, November 2026: once a turn has tool calls, `reasoning_content` of all its answers is required
 * in all later requests, even when it is empty; elsewhere it is ignored.
 */
const deepseek: Dialect = {
  ...generic,
  sendsReasoning: true,
  missingReasoning: '',
  requiresReasoningOf: 'all',
  thinkingTag: undefined,
};

/**
 * "Thought signatures" and "OpenAI compatibility", ai.google.dev, November 2026: from Gemini 3 on, the first call of each answer
 * must have its signature, and calls of other models `skip_thought_signature_validator`. Thoughts that `include_thoughts` asks for
 * are content in `<thought>`. Messages need a part, and `name` is no field of them.
 */
const gemini: Dialect = {
  ...generic,
  userNames: false,
  emptyAnswers: false,
  thinkingTag: 'thought',
  foreignCall: (model) =>
    /gemini-[12]\b/.test(model)
      ? {}
      : { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } },
};

/**
 * "Use thinking models", platform.kimi.ai, November 2026: with thinking, answers with tool calls must have `reasoning_content`, and an
 * empty one counts as missing, so that a space replaces it. Empty messages are refused.
 */
const kimi: Dialect = {
  ...generic,
  emptyAnswers: false,
  sendsReasoning: true,
  missingReasoning: ' ',
  thinkingTag: undefined,
};

/**
 * "Compatible OpenAI API" and "Tool Use & Interleaved Thinking", platform.minimax.io, November 2026: with `reasoning_split` reasoning
 * is in `reasoning_details`, which must be sent back; without it, in `<think>` of the content. Names are refused (error 2013), as is
 * a second system message; `response_format` is for older models only. Streamed details are increments, although the page's
 * example takes them for cumulative (MiniMax-M2, issue 95).
 */
const minimax: Dialect = {
  ...generic,
  userNames: false,
  jsonMode: false,
  fields: { reasoning_split: true },
  extrasOf: 'provider',
};

/**
 * "Chat", docs.mistral.ai, and the validator of mistral-common, November 2026: unknown fields such as `name` and
 * `max_completion_tokens` are refused; ids of calls have nine letters and digits; after results of tools the model answers before the
 * user; answers have text or calls. Usage comes without `stream_options`. Thinking is chunks of a list content, which keep a
 * conversation's reasoning when they are sent back ("Reasoning").
 */
const mistral: Dialect = {
  ...generic,
  userNames: false,
  callIds: 'alphanumeric-9',
  emptyAnswers: false,
  userAfterTool: false,
  streamOptions: false,
  thinkingTag: undefined,
  thinkingChunks: true,
  extrasOf: 'provider',
};

/** "OpenAI compatibility", docs.ollama.com, November 2026: thinking is in `reasoning`, in answers and in earlier messages. */
const ollama: Dialect = { ...generic, reasoningField: 'reasoning', sendsReasoning: true };

/**
 * "Reasoning Tokens", openrouter.ai/docs, November 2026: `reasoning_details` are sent back unchanged, to the model they are from.
 * Other models' reasoning is left out.
 */
const openrouter: Dialect = { ...generic, reasoningField: 'reasoning', thinkingTag: undefined };

/** "Reasoning Outputs", docs.vllm.ai, November 2026: `reasoning_content` was renamed to `reasoning`, in both directions. */
const vllm: Dialect = { ...generic, reasoningField: 'reasoning', sendsReasoning: true };

/** The rules of each dialect, by the name that a model's configuration has. */
export const dialects: Readonly<Record<ModelConfig['dialect'], Dialect>> = {
  generic,
  openai,
  azure,
  bedrock,
  deepseek,
  gemini,
  kimi,
  minimax,
  mistral,
  ollama,
  openrouter,
  vllm,
};

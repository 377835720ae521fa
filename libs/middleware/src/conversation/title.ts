import { oneLine, textOf, type ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, isUserMessage, type ModelCall, type ModelPort, userText } from '@caribou/core';
import { askModel, stripReasoningAndTrim } from '../model-calls/ask-model.js';

export interface TitleOptions {
  readonly enabled?: boolean;
  /** Maximum number of words requested from the model. */
  readonly maxWords?: number;
  /** Maximum length of a title. */
  readonly maxChars?: number;
  /** Writes the title; without it the title is the beginning of the user's message. */
  readonly model?: ModelPort;
  /** Longest wait for the model. */
  readonly timeoutMs?: number;
}

const NEW_CONVERSATION = 'New Conversation';
const FALLBACK_CHARS = 50;
const EXCERPT_CHARS = 500;
const MAX_ANSWER_CHARS = 20_000;

/**
 * Sets a thread's title after its first exchange. By default it is taken from the user's message, as a model call would
 * delay the end of the stream and has to be configured. A failure never fails the run.
 */
export function title(options: TitleOptions = {}): AgentMiddleware {
  const { enabled = true, maxWords = 6, maxChars = 60, timeoutMs = 10_000, model } = options;
  return {
    name: 'title',
    isSlowAfterModel: (state) => model !== undefined && enabled && firstExchange(state) !== undefined,
    async afterModel(state, run) {
      const exchange = enabled ? firstExchange(state) : undefined;
      if (exchange === undefined) return undefined;
      const fallback = titleFromText(exchange.user, maxChars);
      if (model === undefined) return { update: { title: fallback } };
      const prompt = titlePrompt(exchange, maxWords);
      const { text, usage } = await askModel(model, titleCall(prompt), { run, timeoutMs, maxChars: MAX_ANSWER_CHARS });
      const written = cleanTitle(text, maxChars);
      return { update: { title: written === '' ? fallback : written }, ...(usage.length === 0 ? {} : { usage }) };
    },
  };
}

/** The title of a thread whose first run was cancelled before the answer; undefined when it has or needs none. */
export function titleWithoutAnswer(state: ThreadState, { enabled = true, maxChars = 60 }: TitleOptions = {}) {
  if (!enabled || (state.title ?? '') !== '') return undefined;
  const [first, second] = state.messages.filter(isUserMessage);
  return first === undefined || second !== undefined ? undefined : titleFromText(userText(first), maxChars);
}

interface Exchange {
  readonly user: string;
  readonly assistant: string;
}

/** The first exchange of a thread that has no title and one human message; undefined otherwise. */
function firstExchange(state: ThreadState): Exchange | undefined {
  if (state.title !== undefined && state.title !== '') return undefined;
  const at = state.messages.findIndex((message) => message.type === 'ai');
  const answer = state.messages[at];
  // Further messages of the user may have joined the run before its first answer.
  const first = state.messages.slice(0, Math.max(at, 0)).find(isUserMessage);
  if (first === undefined || answer === undefined || state.messages.slice(at).some(isUserMessage)) return undefined;
  return { user: userText(first), assistant: textOf(answer.content) };
}

/** The beginning of the user's message on one line, with `...` where it was cut. */
export function titleFromText(words: string, maxChars: number): string {
  const line = oneLine(words);
  if (line === '') return NEW_CONVERSATION;
  const limit = Math.min(maxChars, FALLBACK_CHARS);
  const chars = Array.from(line);
  return chars.length <= limit ? line : `${chars.slice(0, limit).join('').trimEnd()}...`;
}

const titlePrompt = ({ user, assistant }: Exchange, maxWords: number): string =>
  [
    `Write a concise title of at most ${maxWords} words for this conversation.`,
    'Answer with the title only: no quotes, no explanation, in the language of the person.',
    '',
    `Person: ${user.slice(0, EXCERPT_CHARS)}`,
    `Assistant: ${assistant.slice(0, EXCERPT_CHARS)}`,
  ].join('\n');

/** Cleans a model's answer: removes reasoning and quotes, one line, at most `maxChars` characters. */
export function cleanTitle(answer: string, maxChars: number): string {
  const visible = oneLine(stripReasoningAndTrim(answer));
  const bare = visible.replace(/^["'“”‘’«»]+|["'“”‘’«»]+$/gu, '').trim();
  return Array.from(bare).slice(0, maxChars).join('').trimEnd();
}

const titleCall = (prompt: string): ModelCall => ({
  system: '',
  messages: [{ type: 'human', id: 'title', content: prompt, additional_kwargs: {}, response_metadata: {} }],
  tools: [],
  thinkingEnabled: false,
});

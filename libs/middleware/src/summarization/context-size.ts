import type { ContextSize } from '@caribou/config';
import type { Message } from '@caribou/contracts';
import { estimateMessageTokens } from './token-estimate.js';

/** Size of a context, and the model's context size if it is known. */
export interface ContextFill {
  readonly messages: number;
  readonly tokens: number;
  readonly maxInputTokens?: number | undefined;
}

/** Whether the context has reached a size; a share of an unknown limit is never reached. */
export function isReached(size: ContextSize, { messages, tokens, maxInputTokens }: ContextFill): boolean {
  switch (size.type) {
    case 'messages':
      return messages >= size.value;
    case 'tokens':
      return tokens >= size.value;
    case 'fraction':
      return maxInputTokens !== undefined && tokens >= size.value * maxInputTokens;
  }
}

/** Number of messages to keep when a share of an unknown limit is configured; the same as in the default settings. */
const FALLBACK_MESSAGES = 10;

/** Index of the first of the newest messages that fit into a size. */
export function startOfNewest(
  messages: readonly Message[],
  size: ContextSize,
  maxInputTokens: number | undefined,
): number {
  if (size.type === 'messages') return Math.max(0, messages.length - size.value);
  if (size.type === 'tokens') return startWithin(messages, size.value);
  if (maxInputTokens === undefined) return Math.max(0, messages.length - FALLBACK_MESSAGES);
  return startWithin(messages, size.value * maxInputTokens);
}

function startWithin(messages: readonly Message[], tokens: number): number {
  let left = tokens;
  const last = messages.findLastIndex((message) => {
    left -= estimateMessageTokens(message);
    return left < 0;
  });
  return last + 1;
}

import type { MemoryDocument } from '@caribou/contracts';
import { formatMemory } from './format-memory.js';
import { type CountTokens, loadTokenCounter } from './token-counter.js';

/**
 * Formats a memory for the prompt with at most `maxTokens`; '' when it is empty. A token has at least one byte, so a
 * memory with no more bytes than tokens is rendered whole without loading the tokenizer.
 */
export async function renderMemory(
  document: MemoryDocument,
  maxTokens: number,
  load: () => Promise<CountTokens> = loadTokenCounter,
): Promise<string> {
  if (charsOf(document) <= maxTokens) {
    const whole = formatMemory(document, { maxTokens: Number.MAX_SAFE_INTEGER, countTokens: () => 0 });
    if (Buffer.byteLength(whole) <= maxTokens) return whole;
  }
  return formatMemory(document, { maxTokens, countTokens: await load() });
}

/** A lower bound of the length of the text. */
const charsOf = ({ user, history, facts }: MemoryDocument): number =>
  [...Object.values({ ...user, ...history }).map(({ summary }) => summary), ...facts.map(({ content }) => content)]
    .map(({ length }) => length)
    .reduce((sum, length) => sum + length, 0);

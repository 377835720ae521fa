import type { MemoryDocument } from '@caribou/contracts';
import { formatMemory } from './format-memory.js';
import { type CountTokens, loadTokenCounter } from './token-counter.js';

/**
 * The memory as an agent is shown it, in at most `maxTokens`; '' when there is nothing. A token stands for at least one
 * byte, so a memory with no more bytes than tokens is shown whole, and no tokenizer is loaded for it.
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

/** About as many as the text will have at least. */
const charsOf = ({ user, history, facts }: MemoryDocument): number =>
  [...Object.values({ ...user, ...history }).map(({ summary }) => summary), ...facts.map(({ content }) => content)]
    .map(({ length }) => length)
    .reduce((sum, length) => sum + length, 0);

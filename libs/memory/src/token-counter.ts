/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number;

/** Size of the tokenizer's cache of words. The default is 100,000, which is too much for long words. */
const MAX_CACHED_TOKENIZATIONS = 4_000;

let counter: Promise<CountTokens> | undefined;

/**
 * Returns a counter for OpenAI's cl100k_base, whose vocabulary is part of the library: nothing is downloaded. The first
 * call loads it, which blocks the process for a tenth of a second, or several on a busy machine, and takes 30 MB. Names of
 * special tokens in a text count as plain text.
 *
 * The time grows with the square of a word's length, so callers count lines of at most a few thousand characters.
 */
export function loadTokenCounter(): Promise<CountTokens> {
  counter ??= loadCounter();
  return counter;
}

async function loadCounter(): Promise<CountTokens> {
  const { countTokens, setMergeCacheSize } = await import('gpt-tokenizer/encoding/cl100k_base');
  setMergeCacheSize(MAX_CACHED_TOKENIZATIONS);
  const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, plain);
}

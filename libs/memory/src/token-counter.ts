/** Tokens of a text. */
export type CountTokens = (text: string) => number;

/** Words whose pieces are kept for the next count. The library keeps 100,000, and a remembered word may be long. */
const KEPT_WORDS = 4_000;

let counter: Promise<CountTokens> | undefined;

/**
 * The counter of OpenAI's cl100k_base, whose vocabulary ships with the library: nothing is downloaded. Loaded when it is
 * first asked for, which holds the process up for a tenth of a second, or several on a busy machine, and costs 30 MB. A
 * name of a special token in a text counts as the text it is.
 *
 * A word takes time with the square of its length: counted are lines of at most a few thousand characters.
 */
export function loadTokenCounter(): Promise<CountTokens> {
  counter ??= loaded();
  return counter;
}

async function loaded(): Promise<CountTokens> {
  const { countTokens, setMergeCacheSize } = await import('gpt-tokenizer/encoding/cl100k_base');
  setMergeCacheSize(KEPT_WORDS);
  const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, plain);
}

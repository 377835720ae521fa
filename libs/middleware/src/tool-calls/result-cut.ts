import { type Content, textOf } from '@caribou/contracts';

/** Characters to keep of a long text's beginning and end. */
export interface KeptChars {
  readonly head: number;
  readonly tail: number;
}

/** The size of a long text, and how much of it was omitted. */
export interface CutFacts {
  readonly chars: number;
  readonly lines: number;
  readonly omitted: number;
}

/**
 * Cuts a text to its beginning and its end with a note between them, so that the start of a result ("Error: …") stays
 * visible. Never splits a surrogate pair. Undefined when the result would not be shorter.
 */
export function cutText(text: string, kept: KeptChars, note: (facts: CutFacts) => string): string | undefined {
  const head = text.slice(0, splitsPair(text, kept.head) ? kept.head - 1 : kept.head);
  const from = Math.max(text.length - kept.tail, head.length);
  const tail = text.slice(splitsPair(text, from) ? from + 1 : from);
  const facts = { chars: text.length, lines: linesIn(text), omitted: text.length - head.length - tail.length };
  const cut = [head, `[${note(facts)}]`, tail].filter((part) => part !== '').join('\n\n');
  return cut.length < text.length ? cut : undefined;
}

/** Whether a cut at this position would split a surrogate pair. */
export const splitsPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at));

function linesIn(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return text.endsWith('\n') ? count - 1 : count;
}

/** Replaces the text of the content; images and other parts stay after it. */
export function withText(content: Content, text: string): Content {
  if (typeof content === 'string') return text;
  return [{ type: 'text', text }, ...content.filter((part) => textOf([part]) === '')];
}

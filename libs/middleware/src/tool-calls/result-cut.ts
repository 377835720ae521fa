import { type Content, textOf } from '@caribou/contracts';

/** Characters kept of a long text's beginning and end. */
export interface KeptChars {
  readonly head: number;
  readonly tail: number;
}

/** What is known of a long text: its size, and how much of it a cut leaves out. */
export interface CutFacts {
  readonly chars: number;
  readonly lines: number;
  readonly omitted: number;
}

/**
 * The beginning and the end of a text with a note between them; the beginning comes first, so that how a result begins
 * ("Error: …") stays to be seen. Never cuts a surrogate pair. Undefined when nothing would be gained.
 */
export function cutText(text: string, kept: KeptChars, note: (facts: CutFacts) => string): string | undefined {
  const head = text.slice(0, splitsPair(text, kept.head) ? kept.head - 1 : kept.head);
  const from = Math.max(text.length - kept.tail, head.length);
  const tail = text.slice(splitsPair(text, from) ? from + 1 : from);
  const facts = { chars: text.length, lines: linesIn(text), omitted: text.length - head.length - tail.length };
  const cut = [head, `[${note(facts)}]`, tail].filter((part) => part !== '').join('\n\n');
  return cut.length < text.length ? cut : undefined;
}

/** Whether a cut at this place falls between the two halves of a character. */
export const splitsPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at));

function linesIn(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return text.endsWith('\n') ? count - 1 : count;
}

/** The content with another text; images and other parts stay behind it. */
export function withText(content: Content, text: string): Content {
  if (typeof content === 'string') return text;
  return [{ type: 'text', text }, ...content.filter((part) => textOf([part]) === '')];
}

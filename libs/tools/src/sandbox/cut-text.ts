/**
 * Removes the middle of a text that is longer than `maxChars`, including the marker, so that its beginning and end stay
 * readable. Never splits a surrogate pair.
 */
export function cutMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const room = Math.max(0, maxChars - marker(text.length).length);
  const head = text.slice(0, borderBefore(text, Math.ceil(room / 2)));
  const tail = text.slice(borderAfter(text, text.length - Math.floor(room / 2)));
  return `${head}${marker(text.length - head.length - tail.length)}${tail}`;
}

/** The first `maxChars` characters of a text; never splits a surrogate pair. */
export const cutEnd = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : text.slice(0, borderBefore(text, maxChars));

const marker = (skippedChars: number): string => `\n... [${skippedChars} characters skipped] ...\n`;

const borderBefore = (text: string, at: number): number => (splitsPair(text, at) ? at - 1 : at);
const borderAfter = (text: string, at: number): number => (splitsPair(text, at) ? at + 1 : at);

const splitsPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at));

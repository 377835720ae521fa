import { InvalidRequestError } from '@caribou/contracts';

/** Levels of nesting a body may have: more is no message, and costs a stack frame each wherever JSON is written. */
const MAX_DEPTH = 100;

/**
 * The JSON of a request body; nothing for an empty one. A key `__proto__` is left out wherever it stands: copied
 * with an assignment it would change an object's prototype.
 *
 * @throws {InvalidRequestError} when it is no JSON, or nested deeper than `MAX_DEPTH`
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  if (depthOf(text) > MAX_DEPTH) throw new InvalidRequestError(`the body is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return mayHoldProto(text) ? JSON.parse(text, withoutProto) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new InvalidRequestError('the body is not valid JSON', { cause: error });
    throw error;
  }
}

/** Either spelled out, or with escapes for any of its characters. */
const mayHoldProto = (text: string): boolean => text.includes('__proto__') || /\\u00[567]/i.test(text);

const withoutProto = (key: string, value: unknown): unknown => (key === '__proto__' ? undefined : value);

const enum Char {
  Quote = 34,
  OpenBracket = 91,
  Backslash = 92,
  CloseBracket = 93,
  OpenBrace = 123,
  CloseBrace = 125,
}

/** The deepest nesting of brackets outside strings; stops counting past the limit. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    if (inString) {
      if (char === Char.Backslash) index += 1;
      else if (char === Char.Quote) inString = false;
    } else if (char === Char.Quote) inString = true;
    else if (char === Char.OpenBrace || char === Char.OpenBracket) deepest = Math.max(deepest, ++depth);
    else if (char === Char.CloseBrace || char === Char.CloseBracket) depth -= 1;
    if (deepest > MAX_DEPTH) break;
  }
  return deepest;
}

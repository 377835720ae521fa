import { isRecord } from '@caribou/contracts';
import { parseJson } from './provider-text.js';

type Json = Record<string, unknown>;

/** How often a stream is asked for a new pattern; of one whose frames differ in more than the text each frame is parsed. */
const MAX_PATTERNS = 8;
/** Put in place of a frame's text: JSON has these control characters as they are, and they need one byte each as ASCII does. */
const MARK = '\u0080\u0081';

/** A frame with a text: what is before and after it, and the parsed frame, whose `holder` has it as `name`. */
interface Pattern {
  readonly before: string;
  readonly after: string;
  readonly chunk: unknown;
  readonly holder: Json;
  readonly name: string;
}

/**
 * Parses the frames of one answer. Most of them are equal but for a piece of text, so such a frame is read by comparing it with the one
 * before, which takes a fifth of the time. The result is that of `JSON.parse`, but the object is used again for the next frame.
 */
export class FrameParser {
  #pattern: Pattern | undefined;
  #patterns = 0;

  /** @returns undefined for a text that is not JSON */
  parse(data: string): unknown {
    const text = this.#pattern === undefined ? undefined : textBetween(data, this.#pattern);
    if (this.#pattern !== undefined && text !== undefined) {
      this.#pattern.holder[this.#pattern.name] = text;
      return this.#pattern.chunk;
    }
    const chunk = parseJson(data);
    if (this.#patterns < MAX_PATTERNS) this.#learn(data, chunk);
    return chunk;
  }

  #learn(data: string, chunk: unknown): void {
    const found = textOf(chunk);
    const text = found?.holder[found.name];
    // The first frame often has an empty text and the role, which the others do not have.
    if (found === undefined || typeof text !== 'string' || text === '') return;
    this.#patterns += 1;
    this.#pattern = patternOf(data, found.name, text);
  }
}

/** The text of a frame that is like the pattern in everything else; undefined for another frame. */
function textBetween(data: string, { before, after }: Pattern): string | undefined {
  const end = data.length - after.length;
  // Slices are compared as memory; `startsWith` in optimized code compares one character after the other.
  if (end < before.length || data.slice(0, before.length) !== before || data.slice(end) !== after) return undefined;
  const text = data.slice(before.length, end);
  return isPlain(text) ? text : textOrUndefined(`"${text}"`);
}

/** Whether JSON has the characters as they are. */
const isPlain = (text: string): boolean => !/["\\\u0000-\u001f]/.test(text);

/** A text that has a quote which is not escaped ends there: it is not one text of JSON. */
function textOrUndefined(json: string): string | undefined {
  const text = parseJson(json);
  return typeof text === 'string' ? text : undefined;
}

/** Finds the text in a frame, and proves that it is there: with another text in its place only the text differs. */
function patternOf(data: string, name: string, text: string): Pattern | undefined {
  const key = data.lastIndexOf(`"${name}":`);
  const at = data.indexOf('"', key + name.length + 3);
  const json = JSON.stringify(text);
  if (key < 0 || text === MARK || !data.startsWith(json, at)) return undefined;
  const before = data.slice(0, at + 1);
  const after = data.slice(at + json.length - 1);
  const chunk = parseJson(before + MARK + after);
  const found = textOf(chunk);
  return found?.holder[name] === MARK ? { before, after, chunk, holder: found.holder, name } : undefined;
}

/** Where a frame has its piece of text: in the delta of the first choice, or in that of a block of Anthropic's messages. */
function textOf(chunk: unknown): Pick<Pattern, 'holder' | 'name'> | undefined {
  if (!isRecord(chunk)) return undefined;
  const choice: unknown = Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined;
  const [delta, name] = isRecord(choice) ? [choice['delta'], 'content'] : [chunk['delta'], 'text'];
  return isRecord(delta) && typeof delta[name] === 'string' ? { holder: delta, name } : undefined;
}

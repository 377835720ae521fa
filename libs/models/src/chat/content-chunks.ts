import { isRecord } from '@caribou/contracts';
import { textIn } from '../http/narrow.js';
import type { SplitPiece } from './inline-thinking.js';

type Chunk = Readonly<Record<string, unknown>>;

/** Reads a content that is a list of text and thinking chunks, as Mistral streams it. */
export function readChunks(chunks: readonly unknown[]): SplitPiece {
  let [content, reasoning] = ['', ''];
  for (const chunk of chunks) {
    if (!isRecord(chunk)) continue;
    if (chunk['type'] === 'thinking') reasoning += thoughtOf(chunk);
    else content += textIn(chunk['text']) ?? '';
  }
  return { content, reasoning };
}

/** The text of a thinking chunk: a text, or a list of text chunks. */
function thoughtOf({ thinking }: Chunk): string {
  if (!Array.isArray(thinking)) return textIn(thinking) ?? '';
  return thinking
    .filter(isRecord)
    .map(({ text }) => textIn(text) ?? '')
    .join('');
}

/**
 * Collects the chunks of an answer with thinking in their order, to be sent back: a thinking chunk as it came, its pieces joined, and
 * `{ text: n }` for n UTF-16 units of the answer's text.
 */
export class ThinkingChunks {
  readonly #parts: Record<string, unknown>[] = [];
  /** The text of the thinking chunk that was begun last. */
  #thought: { type: 'text'; text: string } | undefined;

  /** The parts, or undefined when the answer has no thinking. */
  get parts(): readonly unknown[] | undefined {
    return this.#thought === undefined ? undefined : this.#parts;
  }

  addText(text: string): void {
    if (text === '') return;
    const last = this.#parts.at(-1);
    if (typeof last?.['text'] === 'number') last['text'] += text.length;
    else this.#parts.push({ text: text.length });
  }

  addChunks(chunks: readonly unknown[]): void {
    for (const chunk of chunks) {
      if (!isRecord(chunk)) continue;
      if (chunk['type'] === 'thinking') this.#addThinking(chunk);
      else this.addText(textIn(chunk['text']) ?? '');
    }
  }

  #addThinking(chunk: Chunk): void {
    const last = this.#parts.at(-1);
    if (last?.['type'] === 'thinking' && this.#thought !== undefined) {
      this.#thought.text += thoughtOf(chunk);
      Object.assign(last, chunk, { thinking: [this.#thought] });
      return;
    }
    this.#thought = { type: 'text', text: thoughtOf(chunk) };
    this.#parts.push({ ...chunk, thinking: [this.#thought] });
  }
}

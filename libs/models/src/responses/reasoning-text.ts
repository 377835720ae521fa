import { isRecord } from '@caribou/contracts';
import { textIn } from '../http/narrow.js';

/** Between the parts of summaries, and between reasoning items. */
const SEPARATOR = '\n\n';

/** The reasoning of an answer: the parts of the summaries, or of the reasoning itself, of its reasoning items. */
export class ReasoningText {
  #position = -1;
  #part = -1;
  readonly #positions = new Set<number>();

  has(position: number): boolean {
    return this.#positions.has(position);
  }

  /** Adds a non-empty piece of a part of the item at this position; returns the piece of reasoning that it is. */
  add(position: number, part: number, text: string): string {
    if (position === this.#position && part === this.#part) return text;
    const separator = this.#position === -1 ? '' : SEPARATOR;
    this.#position = position;
    this.#part = part;
    this.#positions.add(position);
    return separator + text;
  }

  /** Adds the reasoning of a complete item that was not streamed. */
  addItem(position: number, { summary, content }: Readonly<Record<string, unknown>>): string {
    const [summaries, contents] = [textsOf(summary), textsOf(content)];
    return (summaries.length > 0 ? summaries : contents).map((text, part) => this.add(position, part, text)).join('');
  }
}

const textsOf = (parts: unknown): string[] =>
  (Array.isArray(parts) ? parts : []).filter(isRecord).flatMap(({ text }) => textIn(text) ?? []);

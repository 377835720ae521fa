import { isRecord } from '@caribou/contracts';
import { textIn } from '../http/narrow.js';

/** Fields that are streamed in pieces; the others replace those of earlier pieces. */
const streamed = ['text', 'summary', 'data'] as const;

/** Limit of the characters of all items, and of their number; more are an error of the model. */
const MAX_CHARS = 4 * 1024 * 1024;
const MAX_ITEMS = 1_024;

type Item = Record<string, unknown>;

/**
 * Assembles `reasoning_details` of OpenRouter and MiniMax from their pieces. Pieces of one type with the same `index` are one item, as
 * are consecutive ones without an index; encrypted items are told apart by their id too, as those of several calls share an index.
 */
export class ReasoningDetails {
  readonly #items: Item[] = [];
  readonly #byKey = new Map<string, Item>();
  #lastKey = '';
  #chars = 0;

  get items(): readonly Item[] {
    return this.#items;
  }

  /** Adds the pieces of one delta; returns their readable text, or undefined when the answer has too many. */
  add(pieces: readonly unknown[]): string | undefined {
    let shown = '';
    for (const piece of pieces) {
      if (!isRecord(piece)) continue;
      this.#join(piece);
      shown += textIn(piece['text']) ?? textIn(piece['summary']) ?? '';
    }
    return this.#chars > MAX_CHARS || this.#items.length > MAX_ITEMS ? undefined : shown;
  }

  #join(piece: Readonly<Item>): void {
    const key = this.#keyOf(piece);
    this.#lastKey = key;
    const item = this.#byKey.get(key);
    for (const field of streamed) this.#chars += textIn(piece[field])?.length ?? 0;
    if (item === undefined) {
      const begun = { ...piece };
      this.#byKey.set(key, begun);
      this.#items.push(begun);
      return;
    }
    for (const [field, value] of Object.entries(piece)) {
      if (isStreamed(field)) item[field] = (textIn(item[field]) ?? '') + (textIn(value) ?? '');
      else if (value !== null && value !== undefined) item[field] = value;
    }
  }

  #keyOf({ index, type, id }: Readonly<Item>): string {
    const name = `${String(type)} ${type === 'reasoning.encrypted' ? String(id) : ''}`;
    if (typeof index === 'number') return `${index} ${name}`;
    const open = `${this.#items.length - 1} ${name}`;
    return this.#lastKey === open && type !== 'reasoning.encrypted' ? open : `${this.#items.length} ${name}`;
  }
}

const isStreamed = (field: string): boolean => (streamed as readonly string[]).includes(field);

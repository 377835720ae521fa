/** Kinds of content of a message item that are text of the answer. */
export type TextKind = 'output_text' | 'refusal';

/**
 * A message item in the `parts` of an answer. A `{ text: n }` for each of its contents follows it; the first `lead` UTF-16
 * units of the first one separate it from the text before and are not the provider's.
 */
export interface MessagePart {
  readonly type: 'message';
  readonly id?: string;
  readonly phase?: string;
  readonly contents: readonly TextKind[];
  readonly lead: number;
}

interface Contents {
  readonly lead: number;
  readonly kinds: TextKind[];
  readonly chars: number[];
}

/** Between the texts of message items, such as a commentary and the final answer. */
const SEPARATOR = '\n\n';

/**
 * The text of an answer of several message items: their texts in order, parted by a blank line. Remembers which of it
 * belongs to which item.
 */
export class AnswerText {
  readonly #byItem = new Map<number, Contents>();
  #item = -1;
  #content = -1;
  #current: Contents = { lead: 0, kinds: [], chars: [] };
  #isInOrder = true;

  /** Whether the texts of items and contents arrived one after the other, so that each is one piece of the answer. */
  get isInOrder(): boolean {
    return this.#isInOrder;
  }

  has(item: number): boolean {
    return this.#byItem.has(item);
  }

  /** Adds a non-empty piece of an item's text; returns the text of the answer that it is. */
  add({ item, content, kind, text }: { item: number; content: number; kind: TextKind; text: string }): string {
    const separator = item === this.#item ? '' : this.#begin(item);
    if (content !== this.#content) {
      this.#isInOrder &&= content === this.#current.kinds.length;
      this.#content = content;
      this.#current.kinds.push(kind);
      this.#current.chars.push(separator.length);
    }
    const { chars } = this.#current;
    chars[chars.length - 1] = (chars.at(-1) ?? 0) + text.length;
    return separator === '' ? text : separator + text;
  }

  /** The parts of a message item. */
  partsOf(item: number, { id, phase }: Pick<MessagePart, 'id' | 'phase'>): readonly unknown[] {
    const { lead, kinds, chars } = this.#byItem.get(item) ?? { lead: 0, kinds: [], chars: [] };
    const part: MessagePart = {
      type: 'message',
      ...(id === undefined ? {} : { id }),
      ...(phase === undefined ? {} : { phase }),
      contents: kinds,
      lead,
    };
    return [part, ...chars.map((text) => ({ text }))];
  }

  #begin(item: number): string {
    this.#isInOrder &&= item > this.#item;
    const separator = this.#item === -1 ? '' : SEPARATOR;
    this.#item = item;
    this.#content = -1;
    this.#current = { lead: separator.length, kinds: [], chars: [] };
    this.#byItem.set(item, this.#current);
    return separator;
  }
}

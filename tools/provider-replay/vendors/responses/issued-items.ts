import type { InputItem } from './shape.js';

const MAX_ITEMS = 100_000;
const MAX_RESPONSES = 1_000;

/** An item as it was issued, with what belongs to it. */
export interface IssuedItem {
  /** The reasoning directly before it in its answer. */
  readonly reasoningId: string | undefined;
  /** The item directly after it in its answer: the id of a message, the call_id of a function call. */
  next: string | undefined;
  readonly item: InputItem;
  /** Whether the response was stored, so that a reference to the item is enough. */
  readonly stored: boolean;
}

/** The items that one server issued, the newest 100,000, and the responses that it stored, the newest 1,000. */
export class IssuedItems {
  private readonly items = new Map<string, IssuedItem>();
  private readonly responses = new Map<string, readonly InputItem[]>();

  /** Enters the items of an answer, and with `stored` the whole conversation for a response that continues it. */
  add(responseId: string, output: readonly InputItem[], stored: readonly InputItem[] | undefined): void {
    let reasoningId: string | undefined;
    let before: IssuedItem | undefined;
    for (const item of output) {
      if (!('id' in item) || typeof item.id !== 'string') continue;
      if (before !== undefined) before.next = item.type === 'function_call' ? item.call_id : item.id;
      before = { reasoningId, next: undefined, item, stored: stored !== undefined };
      reasoningId = item.type === 'reasoning' ? item.id : undefined;
      this.items.set(item.id, before);
    }
    if (stored !== undefined) this.responses.set(responseId, [...stored, ...output]);
    removeOldest(this.items, MAX_ITEMS);
    removeOldest(this.responses, MAX_RESPONSES);
  }

  find(id: string): IssuedItem | undefined {
    return this.items.get(id);
  }

  /** The conversation up to and with a response that was stored. */
  conversation(responseId: string): readonly InputItem[] | undefined {
    return this.responses.get(responseId);
  }
}

function removeOldest(entries: Map<string, unknown>, most: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(key);
  }
}

import type { ToolCallChunk } from '@caribou/contracts';
import { textIn } from '../http/narrow.js';

type Item = Readonly<Record<string, unknown>>;

interface Slot {
  readonly index: number;
  hasArguments: boolean;
}

/** Limit of calls in one answer; more are an error of the model. */
const MAX_CALLS = 128;

/** Converts the function calls of an answer, which are known by their position in its output, to chunks. */
export class FunctionCalls {
  readonly #byPosition = new Map<number, Slot>();

  get count(): number {
    return this.#byPosition.size;
  }

  get isTooMany(): boolean {
    return this.#byPosition.size > MAX_CALLS;
  }

  /** The index of the call at this position of the output, as in its chunks. */
  indexOf(position: number): number | undefined {
    return this.#byPosition.get(position)?.index;
  }

  /** The first chunk of a call, from its item, with the arguments that this has; nothing for a known call. */
  begin(position: number, item: Item): ToolCallChunk[] {
    if (this.#byPosition.has(position)) return [];
    const args = textIn(item['arguments']) ?? '';
    const index = this.#byPosition.size;
    this.#byPosition.set(position, { index, hasArguments: args !== '' });
    return [
      {
        name: textIn(item['name']) ?? null,
        id: textIn(item['call_id']) ?? textIn(item['id']) ?? null,
        args,
        index,
        type: 'tool_call_chunk',
      },
    ];
  }

  /** The chunk of a piece of arguments; nothing for a call that has not begun. */
  add(position: number, args: string): ToolCallChunk[] {
    const slot = this.#byPosition.get(position);
    if (slot === undefined || args === '') return [];
    slot.hasArguments = true;
    return [{ name: null, id: null, args, index: slot.index, type: 'tool_call_chunk' }];
  }

  /** The rest of a complete call: all of it from a server that does not send its pieces. */
  end(position: number, item: Item): ToolCallChunk[] {
    const slot = this.#byPosition.get(position);
    if (slot === undefined) return this.begin(position, item);
    return slot.hasArguments ? [] : this.add(position, textIn(item['arguments']) ?? '');
  }
}

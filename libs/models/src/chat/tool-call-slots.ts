import { isRecord, type ToolCallChunk } from '@caribou/contracts';
import { textIn } from '../http/narrow.js';
import { parseJson } from '../http/provider-text.js';

interface Slot {
  readonly index: number;
  id: string | undefined;
  name: string | undefined;
  args: string;
  extraContent?: Readonly<Record<string, unknown>>;
}

/** Limit of calls in one answer; more are an error of the model. */
const MAX_CALLS = 128;

/**
 * Assigns each tool call of an answer its own index and emits name and id once. Servers differ: some omit the index, some
 * send all calls under index 0, some repeat id and name in every chunk, some use one id for all calls. A chunk begins a
 * new call when its position is new, or when it has a name and either another id or name than the call at its position, or
 * arguments although the arguments of that call are complete.
 */
export class ToolCallSlots {
  readonly #byPosition = new Map<number, Slot>();
  readonly #slots: Slot[] = [];
  #lastPosition = 0;

  /** `extra_content` of the calls, by index, such as Gemini's signatures; undefined when there is none. */
  get extras(): Readonly<Record<number, unknown>> | undefined {
    const found = this.#slots.flatMap(({ index, extraContent }) =>
      extraContent === undefined ? [] : [[index, { extra_content: extraContent }] as const],
    );
    return found.length === 0 ? undefined : Object.fromEntries(found);
  }

  /** Converts the chunks of one `delta.tool_calls`; returns undefined when there are too many calls. */
  read(pieces: readonly unknown[]): ToolCallChunk[] | undefined {
    const chunks = pieces.flatMap((piece, at) =>
      isRecord(piece) ? this.#readOne(piece, pieces.length > 1 ? at : undefined) : [],
    );
    return this.#slots.length > MAX_CALLS ? undefined : chunks;
  }

  #readOne(piece: Readonly<Record<string, unknown>>, at: number | undefined): ToolCallChunk[] {
    if (!isRecord(piece['function'])) return this.#readExtras(piece, at);
    const called = piece['function'];
    const [id, name, args] = [textIn(piece['id']), textIn(called['name']), argumentsOf(called['arguments'])];
    const position = this.#positionOf(piece, at);
    this.#lastPosition = position;
    const open = this.#byPosition.get(position);
    const slot = open !== undefined && !begins(open, { id, name, args }) ? open : this.#begin(position);
    const firstSeen = {
      name: slot.name === undefined ? (name ?? null) : null,
      id: slot.id === undefined ? (id ?? null) : null,
    };
    slot.name ??= name;
    slot.id ??= id;
    slot.args += args;
    addExtraContent(slot, piece);
    return [{ ...firstSeen, args, index: slot.index, type: 'tool_call_chunk' }];
  }

  /** A piece without a function adds to the call at its position; alone it is no call. */
  #readExtras(piece: Readonly<Record<string, unknown>>, at: number | undefined): ToolCallChunk[] {
    const open = this.#byPosition.get(this.#positionOf(piece, at));
    if (open !== undefined) addExtraContent(open, piece);
    return [];
  }

  #positionOf(piece: Readonly<Record<string, unknown>>, at: number | undefined): number {
    return typeof piece['index'] === 'number' ? piece['index'] : (at ?? this.#lastPosition);
  }

  #begin(position: number): Slot {
    const slot: Slot = { index: this.#slots.length, id: undefined, name: undefined, args: '' };
    this.#slots.push(slot);
    this.#byPosition.set(position, slot);
    return slot;
  }
}

function begins(open: Slot, piece: { id: string | undefined; name: string | undefined; args: string }): boolean {
  if (piece.name === undefined || open.name === undefined) return false;
  if (piece.name !== open.name) return true;
  if (piece.id !== undefined && open.id !== undefined && piece.id !== open.id) return true;
  return piece.args !== '' && open.args.trimEnd().endsWith('}') && parseJson(open.args) !== undefined;
}

function addExtraContent(slot: Slot, { extra_content: extra }: Readonly<Record<string, unknown>>): void {
  if (isRecord(extra)) slot.extraContent = { ...slot.extraContent, ...extra };
}

/** Some servers send the arguments as an object. */
const argumentsOf = (value: unknown): string =>
  typeof value === 'string' ? value : isRecord(value) ? JSON.stringify(value) : '';

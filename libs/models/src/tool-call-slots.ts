import type { ToolCallChunk } from '@caribou/contracts';
import { isRecord, textIn } from './narrow.js';
import { parseJson } from './provider-text.js';

interface Slot {
  readonly index: number;
  id: string | undefined;
  name: string | undefined;
  args: string;
}

/** More calls than this in one answer are a fault of the model. */
const MAX_CALLS = 128;

/**
 * Gives each tool call of an answer an index of its own and tells name and id once. Servers differ: some leave the
 * index out, some send all calls under index 0, some repeat id and name in every piece, some give every call the
 * same id. A piece begins a new call when its place is new, or when it has a name and either another id or name
 * than the call at its place, or arguments although that call's are complete.
 */
export class ToolCallSlots {
  readonly #byPlace = new Map<number, Slot>();
  #count = 0;
  #lastPlace = 0;

  /** The chunks of the pieces in one `delta.tool_calls`; undefined when there are too many calls. */
  read(pieces: readonly unknown[]): ToolCallChunk[] | undefined {
    const chunks = pieces.flatMap((piece, position) =>
      isRecord(piece) ? [this.#readOne(piece, pieces.length > 1 ? position : undefined)] : [],
    );
    return this.#count > MAX_CALLS ? undefined : chunks;
  }

  #readOne(piece: Readonly<Record<string, unknown>>, position: number | undefined): ToolCallChunk {
    const called = isRecord(piece['function']) ? piece['function'] : {};
    const [id, name, args] = [textIn(piece['id']), textIn(called['name']), argumentsOf(called['arguments'])];
    const place = typeof piece['index'] === 'number' ? piece['index'] : (position ?? this.#lastPlace);
    this.#lastPlace = place;
    const open = this.#byPlace.get(place);
    const slot = open !== undefined && !begins(open, { id, name, args }) ? open : this.#begin(place);
    const told = {
      name: slot.name === undefined ? (name ?? null) : null,
      id: slot.id === undefined ? (id ?? null) : null,
    };
    slot.name ??= name;
    slot.id ??= id;
    slot.args += args;
    return { ...told, args, index: slot.index, type: 'tool_call_chunk' };
  }

  #begin(place: number): Slot {
    const slot: Slot = { index: this.#count, id: undefined, name: undefined, args: '' };
    this.#count += 1;
    this.#byPlace.set(place, slot);
    return slot;
  }
}

function begins(open: Slot, piece: { id: string | undefined; name: string | undefined; args: string }): boolean {
  if (piece.name === undefined || open.name === undefined) return false;
  if (piece.name !== open.name) return true;
  if (piece.id !== undefined && open.id !== undefined && piece.id !== open.id) return true;
  return piece.args !== '' && open.args.trimEnd().endsWith('}') && parseJson(open.args) !== undefined;
}

/** Some servers send the arguments as an object. */
const argumentsOf = (value: unknown): string =>
  typeof value === 'string' ? value : isRecord(value) ? JSON.stringify(value) : '';

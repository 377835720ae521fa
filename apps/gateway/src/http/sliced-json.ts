import { setImmediate } from 'node:timers/promises';

/** Size of a slice in characters; longer JSON is written in slices, with a turn of the event loop after each. */
export const LARGE_BYTES = 256 * 1024;

/** Estimated characters of a value that is not a string. */
const VALUE_CHARS = 8;

/**
 * The JSON of `value`, as JSON.stringify writes it, without blocking the event loop for longer than one slice takes. A
 * worker thread would not help, because copying the objects to it blocks the loop for as long.
 */
export async function stringifyInSlices(value: unknown): Promise<string> {
  const pieces: string[] = [];
  let sinceTurn = 0;
  const put = async (piece: string): Promise<void> => {
    pieces.push(piece);
    sinceTurn += piece.length;
    if (sinceTurn < LARGE_BYTES) return;
    sinceTurn = 0;
    await setImmediate();
  };
  await write(value, put);
  return pieces.join('');
}

/** Whether the JSON is longer than a slice. The estimate ends as soon as it exceeds one. */
export const isLarge = (value: unknown): boolean => charsLeft(value, LARGE_BYTES) < 0;

type Put = (piece: string) => Promise<void>;

async function write(value: unknown, put: Put): Promise<void> {
  if (typeof value !== 'object' || value === null || hasToJson(value) || !isLarge(value))
    await put(JSON.stringify(value) ?? 'null');
  else if (Array.isArray(value)) await writeItems(value, put);
  else await writeMembers(value, put);
}

const hasToJson = (value: object): boolean => 'toJSON' in value && typeof value.toJSON === 'function';

async function writeItems(items: readonly unknown[], put: Put): Promise<void> {
  let before = '[';
  for (const item of items) {
    await put(before);
    await write(item, put);
    before = ',';
  }
  await put(items.length === 0 ? '[]' : ']');
}

async function writeMembers(value: object, put: Put): Promise<void> {
  let before = '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue;
    await put(`${before}${JSON.stringify(name)}:`);
    await write(member, put);
    before = ',';
  }
  await put(before === '{' ? '{}' : '}');
}

/** Estimates the number of characters of a value's JSON. */
export const jsonChars = (value: unknown): number => -charsLeft(value, 0, true);

/** The part of `budget` that remains after the value's characters; negative when they exceed it. */
function charsLeft(value: unknown, budget: number, whole = false): number {
  if (typeof value === 'string') return budget - value.length;
  let left = budget - VALUE_CHARS;
  if (typeof value !== 'object' || value === null) return left;
  for (const [name, member] of Object.entries(value)) {
    if (left < 0 && !whole) return left;
    left = charsLeft(member, left - name.length, whole);
  }
  return left;
}

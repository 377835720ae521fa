import { isRecord } from '@caribou/contracts';
import type { StoredItem } from '@caribou/state';

/** The texts of an item that a search ranks by: those at the paths of its index, or all. */
export function textsOf({ value, index }: Pick<StoredItem, 'value' | 'index'>): string[] {
  if (index === null || index.includes('$')) return [...stringsIn(value)];
  return index.flatMap((path) => [...valuesAt(value, partsOf(path))].flatMap((found) => [...stringsIn(found)]));
}

/** `a.b[*].c[0]` as its parts: `a`, `b`, `*`, `c`, `0`. */
const partsOf = (path: string): string[] => path.split(/[.[\]]/).filter((part) => part !== '');

function* valuesAt(value: unknown, [part, ...rest]: readonly string[]): Generator<unknown> {
  if (part === undefined) yield value;
  else if (Array.isArray(value)) {
    const wanted = part === '*' ? value : [value.at(Number.isInteger(Number(part)) ? Number(part) : value.length)];
    for (const entry of wanted) yield* valuesAt(entry, rest);
  } else if (isRecord(value)) {
    const wanted = part === '*' ? Object.values(value) : Object.hasOwn(value, part) ? [value[part]] : [];
    for (const entry of wanted) yield* valuesAt(entry, rest);
  }
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'number') yield String(value);
  else if (Array.isArray(value)) for (const entry of value) yield* stringsIn(entry);
  else if (isRecord(value)) for (const entry of Object.values(value)) yield* stringsIn(entry);
}

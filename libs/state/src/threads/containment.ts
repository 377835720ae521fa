import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '@caribou/contracts';

/** Whether `value` has every key of `wanted` with an equal value; objects are compared by containment as well. */
export function containsAll(value: unknown, wanted: Readonly<Record<string, unknown>>): boolean {
  if (!isRecord(value)) return false;
  return Object.entries(wanted).every(([key, part]) => {
    if (!Object.hasOwn(value, key)) return false;
    return isRecord(part) ? containsAll(value[key], part) : isDeepStrictEqual(value[key], part);
  });
}

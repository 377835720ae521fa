import { isDeepStrictEqual } from 'node:util';

/** Whether `value` has every key of `wanted` with an equal value; objects are compared by containment as well. */
export function containsAll(value: unknown, wanted: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(value)) return false;
  return Object.entries(wanted).every(([key, part]) => {
    if (!Object.hasOwn(value, key)) return false;
    return isObject(part) ? containsAll(value[key], part) : isDeepStrictEqual(value[key], part);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keys that are remembered. */
const MAX_KEYS = 16;
/** The length in UTF-16 units from which a text is not remembered. */
const MAX_UNITS = 256 * 1024;

/** Wraps a function of immutable objects, so that it computes the value of each object once. */
export function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = compute(key);
    values.set(key, value);
    return value;
  };
}

/**
 * Wraps a function of long texts of which a process has few, such as system prompts, so that it computes the value of each of the 16
 * texts that were used last once. They are compared, which takes a tenth of the time that the hash of a `Map` takes.
 */
export const memoizeRecent = <Value>(compute: (text: string) => Value): ((text: string) => Value) =>
  memoizeLast(
    compute,
    (one, other) => one === other,
    ({ length }) => length < MAX_UNITS,
  );

/** The same for lists of which a process has few, such as the tools of an agent: they are equal when they have the same members. */
export const memoizeRecentLists = <Member, Value>(
  compute: (list: readonly Member[]) => Value,
): ((list: readonly Member[]) => Value) =>
  memoizeLast(
    compute,
    (one, other) => one.length === other.length && one.every((member, index) => member === other[index]),
    () => true,
  );

function memoizeLast<Key, Value>(
  compute: (key: Key) => Value,
  isEqual: (one: Key, other: Key) => boolean,
  isRemembered: (key: Key) => boolean,
): (key: Key) => Value {
  /** The one that was used last is the first. */
  let recent: { readonly key: Key; readonly value: Value }[] = [];
  return (key) => {
    const at = recent.findIndex((known) => isEqual(known.key, key));
    const found = recent[at];
    if (found !== undefined) {
      if (at > 0) recent = [found, ...recent.filter((known) => known !== found)];
      return found.value;
    }
    const value = compute(key);
    if (isRemembered(key)) recent = [{ key, value }, ...recent].slice(0, MAX_KEYS);
    return value;
  };
}

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
export function memoizeRecent<Value>(compute: (text: string) => Value): (text: string) => Value {
  const recent = new Recent<string, Value>((one, other) => one === other);
  return (text) => {
    const known = recent.find(text);
    if (known !== undefined) return known;
    const value = compute(text);
    return text.length < MAX_UNITS ? recent.add(text, value) : value;
  };
}

/** The same for lists of which a process has few, such as the tools of an agent: they are equal when they have the same members. */
export const memoizeRecentLists = <Member, Value>(
  compute: (list: readonly Member[]) => Value,
): ((list: readonly Member[]) => Value) => memoizeRecentBy((list) => list, compute);

/** The same for a function whose value depends on nothing but the members of a list that it is given by `keyOf`. */
export function memoizeRecentBy<Input, Value>(
  keyOf: (input: Input) => readonly unknown[],
  compute: (input: Input) => Value,
): (input: Input) => Value {
  const recent = new Recent<readonly unknown[], Value>(
    (one, other) => one.length === other.length && one.every((member, index) => member === other[index]),
  );
  return (input) => {
    const key = keyOf(input);
    return recent.find(key) ?? recent.add(key, compute(input));
  };
}

interface Entry<Key, Value> {
  readonly key: Key;
  readonly value: Value;
}

/** The values that were used last. */
class Recent<Key, Value> {
  /** The one that was used last is the first. */
  private entries: readonly Entry<Key, Value>[] = [];

  constructor(private readonly isEqual: (one: Key, other: Key) => boolean) {}

  find(key: Key): Value | undefined {
    const at = this.entries.findIndex((known) => this.isEqual(known.key, key));
    const found = this.entries[at];
    if (found !== undefined && at > 0) this.entries = [found, ...this.entries.filter((known) => known !== found)];
    return found?.value;
  }

  add(key: Key, value: Value): Value {
    this.entries = [{ key, value }, ...this.entries].slice(0, MAX_KEYS);
    return value;
  }
}

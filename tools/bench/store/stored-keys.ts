/** A key of the store and its size in Redis. */
export interface StoredKey {
  readonly name: string;
  readonly bytes: number;
  /** Whether Redis removes it at a deadline. */
  readonly expires: boolean;
}

/** Bytes of all keys of one kind. */
export interface KindOfKeys {
  readonly kind: string;
  readonly bytes: number;
  readonly expires: boolean;
}

/** Ids of threads, runs and users. */
const ID = /:(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|call_[^:]*|default)(?=:|$)/g;

/** The name of a key without the ids in it: `caribou:thread:*:*:log`. */
export const kindOf = (name: string): string => name.replace(ID, ':*');

/** Adds up `after` − `before` by kind, the largest first. Kinds that did not change are left out. */
export function growthByKind(before: readonly StoredKey[], after: readonly StoredKey[]): readonly KindOfKeys[] {
  const kinds = new Map<string, KindOfKeys>();
  const add = ({ name, bytes, expires }: StoredKey, sign: number): void => {
    const kind = kindOf(name);
    const id = `${kind} ${expires}`;
    kinds.set(id, { kind, expires, bytes: (kinds.get(id)?.bytes ?? 0) + sign * bytes });
  };
  for (const key of before) add(key, -1);
  for (const key of after) add(key, 1);
  return [...kinds.values()].filter(({ bytes }) => bytes !== 0).sort((a, b) => b.bytes - a.bytes);
}

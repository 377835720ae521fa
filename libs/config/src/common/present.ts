/** The object without its undefined fields. */
export function present<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept: { [K in keyof T]?: T[K] } = { ...value };
  for (const key of Object.keys(kept) as (keyof T)[]) if (kept[key] === undefined) Reflect.deleteProperty(kept, key);
  return kept as { [K in keyof T]?: Exclude<T[K], undefined> };
}

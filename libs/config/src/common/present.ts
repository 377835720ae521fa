/** Returns the object without its undefined fields. */
export function present<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const defined: { [K in keyof T]?: T[K] } = { ...value };
  for (const key of Object.keys(defined) as (keyof T)[])
    if (defined[key] === undefined) Reflect.deleteProperty(defined, key);
  return defined as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** The fields of `T` that are defined, each with its type without `undefined`. */
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns a copy of the object without the fields whose value is undefined. */
export function omitUndefined<T extends object>(fields: T): Defined<T> {
  const defined: Defined<T> = {};
  for (const name of Object.keys(fields) as (keyof T)[]) {
    const value = fields[name];
    if (value !== undefined) defined[name] = value as Exclude<T[keyof T], undefined>;
  }
  return defined;
}

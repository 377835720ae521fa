/** The fields of `T` that are defined, each with its type without `undefined`. */
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns a copy of the object without the fields whose value is undefined. */
export const omitUndefined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;

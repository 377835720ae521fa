type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** The object type with its own keys in camelCase; keys of nested objects do not change. */
export type CamelKeys<T> = { readonly [K in keyof T as Camel<K & string>]: T[K] };

/** Converts the snake_case keys of the file to the camelCase keys that the code uses. */
export function camelKeys<T extends object>(value: T): CamelKeys<T> {
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => [
    key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    item,
  ]);
  return Object.fromEntries(entries) as CamelKeys<T>;
}

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** The same object with its keys in camelCase; nested objects keep theirs. */
export type CamelKeys<T> = { readonly [K in keyof T as Camel<K & string>]: T[K] };

/** Settings as the code reads them, from settings as the file spells them. */
export function camelKeys<T extends object>(value: T): CamelKeys<T> {
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => [
    key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    item,
  ]);
  return Object.fromEntries(entries) as CamelKeys<T>;
}

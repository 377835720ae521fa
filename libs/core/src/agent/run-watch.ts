/** Small words and numbers, nothing a person or a model wrote. */
export type WatchFields = Readonly<Record<string, string | number | boolean>>;

/**
 * A piece of a run's work that somebody looks at: how long it takes and what is decided in it. Whoever began one ends
 * it, once, also by an error.
 */
export interface RunWatch {
  /** A call of a model or a tool within this piece; undefined when nobody looks at calls. */
  call(name: string, fields?: WatchFields): CallWatch | undefined;
  /** A middleware's hook within this piece. */
  hook(middleware: string, hook: string): HookWatch;
}

export interface CallWatch extends RunWatch {
  end(end?: { readonly fields?: WatchFields; readonly error?: unknown }): void;
}

export interface HookWatch {
  /** A decision of this very hook; undefined when nobody looks at single hooks. */
  readonly decided?: (decision: string, fields?: WatchFields) => void;
  /** Carries out what the hook waits for and is not its own work: the layers within. */
  inner<T>(call: () => Promise<T>): Promise<T>;
  end(error?: unknown): void;
}

/** A piece of work in a distributed trace. Times are in milliseconds since the Unix epoch, with fractions. */
export interface Span {
  child(name: string, fields?: WatchFields, startMs?: number): Span;
  event(name: string, fields?: WatchFields, atMs?: number): void;
  end(end?: { readonly fields?: WatchFields; readonly error?: unknown; readonly endMs?: number }): void;
}

/** Numbers and short constants, never text of a user or a model. */
export type WatchFields = Readonly<Record<string, string | number | boolean>>;

/**
 * An instrumented part of a run's work: its duration and the decisions made in it. Its creator ends it exactly once,
 * also after an error.
 */
export interface RunWatch {
  /** Starts a model or tool call within this part; undefined when calls are not instrumented. */
  call(name: string, fields?: WatchFields): CallWatch | undefined;
  /** Starts a middleware's hook within this part. */
  hook(middleware: string, hook: string): HookWatch;
}

export interface CallWatch extends RunWatch {
  end(end?: { readonly fields?: WatchFields; readonly error?: unknown }): void;
}

export interface HookWatch {
  /** Records a decision of this hook; undefined when single hooks are not instrumented. */
  readonly decided?: (decision: string, fields?: WatchFields) => void;
  /** Runs the inner layers, whose time does not count as the hook's own. */
  inner<T>(call: () => Promise<T>): Promise<T>;
  end(error?: unknown): void;
}

/** A span of a distributed trace. Times are in milliseconds since the Unix epoch, with fractions. */
export interface Span {
  child(name: string, fields?: WatchFields, startMs?: number): Span;
  event(name: string, fields?: WatchFields, atMs?: number): void;
  end(end?: { readonly fields?: WatchFields; readonly error?: unknown; readonly endMs?: number }): void;
}

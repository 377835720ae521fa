import type { RunContext, WatchFields } from '@caribou/core';

export interface HookPlace {
  readonly middleware: string;
  readonly hook: string;
}

type Inner = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * Runs a hook under the run's watch, if it has one. Decisions made through the context it gets are this hook's own;
 * what it waits for through `inner` does not count as its time.
 */
export async function watchedHook<T>(
  run: RunContext,
  { middleware, hook }: HookPlace,
  work: (run: RunContext, inner: Inner) => Promise<T>,
): Promise<T> {
  const watch = run.watch?.hook(middleware, hook);
  if (watch === undefined) return work(run, (call) => call());
  const { decided } = watch;
  const context = decided === undefined ? run : alsoTelling(run, decided);
  try {
    const result = await work(context, (call) => watch.inner(call));
    watch.end();
    return result;
  } catch (error) {
    watch.end(error);
    throw error;
  }
}

const alsoTelling = (run: RunContext, tell: (decision: string, fields?: WatchFields) => void): RunContext => ({
  ...run,
  decided: (middleware, decision, fields) => {
    run.decided(middleware, decision, fields);
    tell(decision, fields);
  },
});

export interface WatchedCall<T> {
  readonly name: string;
  readonly fields: WatchFields;
  /** What the result adds to the fields. */
  readonly told?: (result: T) => WatchFields;
}

/** Runs a call of a model or a tool under the run's watch, if somebody looks at calls. */
export async function watchedCall<T>(
  run: RunContext,
  { name, fields, told }: WatchedCall<T>,
  work: (run: RunContext) => Promise<T>,
): Promise<T> {
  const watch = run.watch?.call(name, fields);
  if (watch === undefined) return work(run);
  try {
    const result = await work({ ...run, watch });
    watch.end({ fields: told?.(result) ?? {} });
    return result;
  } catch (error) {
    watch.end({ error });
    throw error;
  }
}

import type { RunStore } from '@caribou/state';

export interface Death {
  /** The call at which the process dies, from 1. */
  readonly call: number;
  /** Whether Redis has executed that call. */
  readonly after: boolean;
}

export interface DyingStore {
  readonly store: RunStore;
  /** Resolves at the death; from then on no call answers. */
  readonly died: Promise<void>;
}

/** A store of a process that dies at one of its calls. */
export function dyingStore(store: RunStore, death: Death): DyingStore {
  let calls = 0;
  let markDied: () => void = () => undefined;
  const died = new Promise<void>((resolve) => {
    markDied = resolve;
  });
  const never = new Promise<never>(() => undefined);
  const mortal = new Proxy(store, {
    get(target, name: keyof RunStore) {
      return async (...args: readonly unknown[]) => {
        calls += 1;
        if (calls > death.call) return never;
        const call = (): Promise<unknown> => Reflect.apply(target[name], target, args) as Promise<unknown>;
        if (calls < death.call) return call();
        if (death.after) await call();
        markDied();
        return never;
      };
    },
  });
  return { store: mortal, died };
}

import type { RunStore } from '@caribou/state';

export interface Death {
  /** The call at which the process dies, from 1. */
  readonly call: number;
  /** Whether the other side has executed that call. */
  readonly after: boolean;
}

export interface DyingProcess {
  /** A port of the process; calls of all its ports are counted together. All methods return promises. */
  readonly port: <T extends object>(port: T) => T;
  /** Resolves at the death; from then on no call answers. */
  readonly died: Promise<void>;
}

/** A process that dies at one of the calls that it makes to others: what it has not sent by then is never sent. */
export function dyingProcess(death: Death): DyingProcess {
  let calls = 0;
  let markDied: () => void = () => undefined;
  const died = new Promise<void>((resolve) => {
    markDied = resolve;
  });
  const never = new Promise<never>(() => undefined);
  const port = <T extends object>(living: T): T =>
    new Proxy(living, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          calls += 1;
          if (calls > death.call) return never;
          const call = (): Promise<unknown> => Reflect.apply(member, target, args) as Promise<unknown>;
          if (calls < death.call) return call();
          if (death.after) await call();
          markDied();
          return never;
        };
      },
    });
  return { port, died };
}

export interface DyingStore {
  readonly store: RunStore;
  /** Resolves at the death; from then on no call answers. */
  readonly died: Promise<void>;
}

/** A store of a process that dies at one of its calls. */
export function dyingStore(store: RunStore, death: Death): DyingStore {
  const { port, died } = dyingProcess(death);
  return { store: port(store), died };
}

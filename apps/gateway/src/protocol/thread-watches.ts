import type { ThreadKey } from '@caribou/core';
import type { ThreadRuns } from '@caribou/bus';
import type { ThreadStore } from '@caribou/state';
import { UnavailableError } from '@caribou/contracts';

export interface WatchPorts {
  readonly store: Pick<ThreadStore, 'noteFollowed'>;
  readonly bus: Pick<ThreadRuns, 'subscribeThreadRuns'>;
}

/** For how many checks the store knows that a thread is followed, so that one check may fail. */
const FOLLOWED_FOR_CHECKS = 3;

/** Says when a thread may have a new run. */
export interface ThreadWatch {
  /** Changes when there may be a run that was not there before. */
  readonly version: number;
  /** Resolves once `version` is another one. @throws the signal's reason */
  waitBeyond(version: number, signal: AbortSignal): Promise<void>;
  /** Idempotent. */
  close(): void;
}

interface Shared {
  readonly key: string;
  version: number;
  known: number | undefined;
  users: number;
  readonly waiting: Set<() => void>;
  stop: () => void;
  readonly ready: Promise<unknown>;
}

/**
 * Watches threads for new runs, once per thread for all streams of the process: notifications on the bus, which are sent for threads
 * that the store knows to be followed, and every `checkMs` the number of admitted runs, as a notification may be lost.
 */
export class ThreadWatches {
  private readonly threads = new Map<string, Shared>();

  constructor(
    private readonly ports: WatchPorts,
    private readonly checkMs: number,
  ) {}

  /** How many threads are watched. */
  get size(): number {
    return this.threads.size;
  }

  /** Resolves when no run admitted from now on is missed. */
  async open(thread: ThreadKey): Promise<ThreadWatch> {
    const key = `${thread.userId}/${thread.threadId}`;
    const shared = this.threads.get(key) ?? this.begin(key, thread);
    shared.users += 1;
    await shared.ready;
    let isOpen = true;
    return {
      get version() {
        return shared.version;
      },
      waitBeyond: (version, signal) => waitBeyond(shared, version, signal),
      close: () => {
        if (isOpen) this.release(shared);
        isOpen = false;
      },
    };
  }

  private begin(key: string, thread: ThreadKey): Shared {
    let unsubscribe: () => void = () => undefined;
    const timer = setInterval(() => void this.check(shared, thread), this.checkMs).unref();
    let stopped = false;
    const subscribe = async (): Promise<void> => {
      const stop = await this.ports.bus.subscribeThreadRuns(thread, () => change(shared));
      if (stopped) stop();
      else unsubscribe = stop;
    };
    const shared: Shared = {
      key,
      version: 0,
      known: undefined,
      users: 0,
      waiting: new Set(),
      stop: () => {
        stopped = true;
        clearInterval(timer);
        unsubscribe();
      },
      ready: Promise.resolve().then(() => Promise.all([subscribe(), this.check(shared, thread)])),
    };
    this.threads.set(key, shared);
    return shared;
  }

  private release(shared: Shared): void {
    shared.users -= 1;
    if (shared.users > 0) return;
    this.threads.delete(shared.key);
    shared.stop();
  }

  private async check(shared: Shared, thread: ThreadKey): Promise<void> {
    try {
      const admitted = await this.ports.store.noteFollowed(thread, FOLLOWED_FOR_CHECKS * this.checkMs);
      if (admitted !== shared.known) change(shared);
      shared.known = admitted;
    } catch (error) {
      // While the store is away, the next check finds what this one did not. Other errors are for the streams, which ask the store.
      if (!(error instanceof UnavailableError)) change(shared);
    }
  }
}

function change(shared: Shared): void {
  shared.version += 1;
  for (const wake of [...shared.waiting]) wake();
}

async function waitBeyond(shared: Shared, version: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (shared.version !== version) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      shared.waiting.delete(finish);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    shared.waiting.add(finish);
    signal.addEventListener('abort', finish, { once: true });
  });
  signal.throwIfAborted();
}

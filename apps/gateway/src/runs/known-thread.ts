import { type Message, NotFoundError, type ThreadState, omitUndefined } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';

/** Newest checkpoints that are searched for the values that a client sends back. */
const MAX_CHECKPOINTS = 20;
/** Pages of newest messages that are searched for messages that a client sends back after they were summarized. */
const MAX_PAGES = 5;
const PAGE_ROWS = 200;

const EMPTY: ThreadState = { messages: [] };

export type KnownThreadStore = Pick<ThreadStore, 'head' | 'checkpoint' | 'history' | 'readFeed'>;

/** The current and recent content of a thread. Each part is read on first use; an unknown thread is empty. */
export class KnownThread {
  private base: Promise<ThreadState> | undefined;
  private earlier: Promise<readonly ThreadState[]> | undefined;
  private shown: Promise<readonly Message[]> | undefined;

  constructor(
    private readonly store: KnownThreadStore,
    private readonly key: ThreadKey,
    private readonly checkpointId: string | undefined,
  ) {}

  /** The state that the run will continue from, as far as it is known before the run begins. */
  readBaseState(): Promise<ThreadState> {
    return (this.base ??= readOrDefault(EMPTY, async () => {
      const { store, key, checkpointId } = this;
      const view = checkpointId === undefined ? await store.head(key) : await store.checkpoint(key, checkpointId);
      return view?.state ?? EMPTY;
    }));
  }

  /** The states of the newest checkpoints. */
  readEarlierStates(): Promise<readonly ThreadState[]> {
    return (this.earlier ??= readOrDefault([], async () => {
      const views = await this.store.history(this.key, { limit: MAX_CHECKPOINTS });
      return views.map(({ state }) => state);
    }));
  }

  /** Messages of earlier states and of the thread's timeline, which the base state may no longer have. */
  async readEarlierMessages(): Promise<readonly Message[]> {
    const [states, shown] = await Promise.all([this.readEarlierStates(), this.readFeedMessages()]);
    return [...new Set(states.flatMap(({ messages }) => messages)), ...shown];
  }

  private readFeedMessages(): Promise<readonly Message[]> {
    return (this.shown ??= readOrDefault([], async () => {
      const messages: Message[] = [];
      let before: number | null | undefined;
      for (let page = 0; page < MAX_PAGES && before !== null; page += 1) {
        const options = { limit: PAGE_ROWS, ...omitUndefined({ before }) };
        const { rows, nextBefore } = await this.store.readFeed(this.key, options);
        messages.push(...rows.map(({ message }) => message));
        before = nextBefore;
      }
      return messages;
    }));
  }
}

async function readOrDefault<Value>(fallback: Value, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NotFoundError) return fallback;
    throw error;
  }
}

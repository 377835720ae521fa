import { setImmediate } from 'node:timers/promises';
import { type Message, NotFoundError, toClientState, type ThreadState } from '@caribou/contracts';
import type { ThreadKey, ThreadStore } from '@caribou/core';
import { LRUCache } from 'lru-cache';
import { LARGE_BYTES, stringifyInSlices } from '../../http/sliced-json.js';

const MAX_BYTES = 128 * 1024 * 1024;
const MAX_ENTRY_BYTES = 32 * 1024 * 1024;

/**
 * The JSON of `values` by thread and checkpoint, shared by every stream of the process: a checkpoint never changes,
 * so there is nothing to check. Bounded by bytes; a text over `MAX_ENTRY_BYTES` is made and not kept.
 */
export class ValuesCache {
  private readonly texts = new LRUCache<string, string>({ maxSize: MAX_BYTES, maxEntrySize: MAX_ENTRY_BYTES });
  private readonly loading = new Map<string, Promise<string | null>>();
  /** The store hands out the same message objects again while it holds them; each is serialised once. */
  private readonly messages = new WeakMap<Message, string>();

  constructor(private readonly store: Pick<ThreadStore, 'checkpoint'>) {}

  /**
   * The values at a checkpoint as one line of JSON, or null when the checkpoint is gone (a rollback took it).
   *
   * @throws {UnavailableError} when the store cannot be read now
   */
  async text(thread: ThreadKey, checkpointId: string): Promise<string | null> {
    const key = `${thread.userId}/${thread.threadId}/${checkpointId}`;
    const known = this.texts.get(key);
    if (known !== undefined) return known;
    const under = this.loading.get(key);
    if (under !== undefined) return under;
    const load = this.load(thread, checkpointId, key).finally(() => this.loading.delete(key));
    this.loading.set(key, load);
    return load;
  }

  private async load(thread: ThreadKey, checkpointId: string, key: string): Promise<string | null> {
    try {
      const { state } = await this.store.checkpoint(thread, checkpointId);
      const text = await this.serialise(state);
      this.texts.set(key, text, { size: Buffer.byteLength(text) });
      return text;
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  /** A large state is written with turns of the event loop between its messages. */
  private async serialise(state: ThreadState): Promise<string> {
    const { messages, ...channels } = toClientState(state);
    const rest = (await stringifyInSlices(channels)).slice(1);
    const texts: string[] = [];
    let sinceTurn = 0;
    for (const message of messages) {
      const text = this.serialiseMessage(message);
      texts.push(text);
      sinceTurn += text.length;
      if (sinceTurn < LARGE_BYTES) continue;
      sinceTurn = 0;
      await setImmediate();
    }
    return `{"messages":[${texts.join(',')}]${rest === '}' ? '' : ','}${rest}`;
  }

  private serialiseMessage(message: Message): string {
    const known = this.messages.get(message);
    if (known !== undefined) return known;
    const text = JSON.stringify(message);
    this.messages.set(message, text);
    return text;
  }
}

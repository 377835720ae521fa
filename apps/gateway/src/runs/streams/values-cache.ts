import { setImmediate } from 'node:timers/promises';
import { type Message, NotFoundError, toClientState, type ThreadState } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { LRUCache } from 'lru-cache';
import { LARGE_BYTES, stringifyInSlices } from '../../http/sliced-json.js';

const MAX_BYTES = 128 * 1024 * 1024;
const MAX_ENTRY_BYTES = 32 * 1024 * 1024;

/**
 * Caches the JSON of `values` by thread and checkpoint for all streams of the process. Entries are never invalid,
 * because a checkpoint never changes. The cache is bounded by bytes; texts over `MAX_ENTRY_BYTES` are not stored.
 */
export class ValuesCache {
  private readonly texts = new LRUCache<string, string>({ maxSize: MAX_BYTES, maxEntrySize: MAX_ENTRY_BYTES });
  private readonly loading = new Map<string, Promise<string | null>>();
  /**
   * JSON of messages by object: the store returns the same objects while it caches them, so each is serialized once.
   */
  private readonly messages = new WeakMap<Message, string>();

  /** Bytes of the texts. */
  readonly bytes = { used: (): number => this.texts.calculatedSize, limit: MAX_BYTES };

  constructor(private readonly store: Pick<ThreadStore, 'checkpoint'>) {}

  /**
   * The values at a checkpoint as one line of JSON, or null when the checkpoint was removed by a rollback.
   *
   * @throws {UnavailableError} when the store is unreachable
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

  /** Serializes a state; for a large one, the event loop gets turns between the messages. */
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

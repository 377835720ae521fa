import type { ThreadKey } from '@caribou/core';
import { LRUCache } from 'lru-cache';

const MAX_THREADS = 20_000;
/** A runner holds the state of a thread that rests for no longer in most cases, and its gateway asks in vain. */
const FOR_MS = 30 * 60_000;

/** Marks a thread that was just created. */
const CREATED = '';

/** Which runner took a thread last, by the answers to this process. */
export class LastTakers {
  private readonly known = new LRUCache<string, string>({ max: MAX_THREADS, ttl: FOR_MS, ttlResolution: 1_000 });

  noteCreated({ userId, threadId }: ThreadKey): void {
    this.known.set(`${userId}/${threadId}`, CREATED);
  }

  /** @param taker the address of a runner; undefined for none that is known */
  note({ userId, threadId }: ThreadKey, taker: string | undefined): void {
    const member = `${userId}/${threadId}`;
    if (taker === undefined) this.known.delete(member);
    else this.known.set(member, taker);
  }

  /** The address; null for a new thread, undefined for unknown. */
  of({ userId, threadId }: ThreadKey): string | null | undefined {
    const taker = this.known.get(`${userId}/${threadId}`);
    return taker === CREATED ? null : taker;
  }
}

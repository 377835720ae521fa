import type { ThreadKey } from '@caribou/core';
import { LRUCache } from 'lru-cache';

const MAX_THREADS = 20_000;
/** A runner holds the state of a thread that rests for no longer in most cases, and its gateway asks in vain. */
const FOR_MS = 30 * 60_000;

/** After an offer without an answer no runner is asked for so long: it hangs, or the server does not permit what this version sends. */
const REST_MS = 60_000;

/** Marks a thread that was just created. */
const CREATED = '';

/** Which runner took a thread last, by the answers to this process. */
export class LastTakers {
  private readonly known = new LRUCache<string, string>({ max: MAX_THREADS, ttl: FOR_MS, ttlResolution: 1_000 });

  private restsUntilMs = 0;

  noteCreated({ userId, threadId }: ThreadKey): void {
    this.known.set(`${userId}/${threadId}`, CREATED);
  }

  /** @param taker the address of a runner; undefined for none that is known */
  note({ userId, threadId }: ThreadKey, taker: string | undefined): void {
    const member = `${userId}/${threadId}`;
    if (taker === undefined) this.known.delete(member);
    else this.known.set(member, taker);
  }

  /** A runner has not answered in time, which its client has waited for. */
  noteLate(): void {
    this.restsUntilMs = performance.now() + REST_MS;
  }

  /** The address; null for a new thread, undefined for unknown, and for some time after a late answer. */
  of({ userId, threadId }: ThreadKey): string | null | undefined {
    if (performance.now() < this.restsUntilMs) return undefined;
    const taker = this.known.get(`${userId}/${threadId}`);
    return taker === CREATED ? null : taker;
  }
}

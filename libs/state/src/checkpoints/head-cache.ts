import { type ThreadKey } from '@caribou/core';
import { LRUCache } from 'lru-cache';
import type { HeldHeads, ThreadHead } from '../ports/run-store.js';
import { pendingMember } from '../redis/keys.js';
import { logOf } from './head-log.js';

/** A message in memory takes about this many bytes more than its JSON, and a state this many more than its messages. */
const BYTES_PER_MESSAGE = 256;
const BYTES_PER_STATE = 4 * 1024;
/** Largest part of the cache for one state. */
const MAX_SHARE = 1 / 4;

/**
 * The newest state that this process read or wrote of each thread, so that the next read transfers only what was added since.
 *
 * A reader names the checkpoint that it has, and the script compares: entries of the log never change and their numbers are
 * never given again, so the entries of a checkpoint that the thread still has are those in the cache, whoever wrote what
 * follows them. What the script returns decides on the state, never the cache.
 */
export class HeadCache implements HeldHeads {
  private readonly heads: LRUCache<string, ThreadHead>;
  /** Estimated bytes of the states. */
  readonly bytes: { readonly used: () => number; readonly limit: number };

  /** @param minBytes size of the smallest state that is held; default: every state */
  constructor(
    maxBytes: number,
    private readonly minBytes = 0,
  ) {
    this.heads = new LRUCache({
      maxSize: maxBytes,
      maxEntrySize: Math.max(1, Math.floor(maxBytes * MAX_SHARE)),
    });
    this.bytes = { used: () => this.heads.calculatedSize, limit: maxBytes };
  }

  get(thread: ThreadKey): ThreadHead | undefined {
    return this.heads.get(pendingMember(thread));
  }

  set(thread: ThreadKey, head: ThreadHead): void {
    const size = sizeOf(head);
    if (head.checkpointId !== null && size >= this.minBytes) this.heads.set(pendingMember(thread), head, { size });
    else this.heads.delete(pendingMember(thread));
  }
}

function sizeOf(head: ThreadHead): number {
  let bytes = BYTES_PER_STATE + BYTES_PER_MESSAGE * head.state.messages.length;
  for (const size of logOf(head).sizes.values()) bytes += size;
  return bytes;
}

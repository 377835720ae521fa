import { LRUCache } from 'lru-cache';

/** How long a text counts as stored, so that a turn with known texts writes none. */
export const REFRESH_MS = 3 * 3_600_000;
const MAX_KNOWN = 50_000;

/** The texts that this process has stored lately, by hash and by the user or thread that they belong to. */
export class WrittenTexts {
  private readonly known = new LRUCache<string, true>({ max: MAX_KNOWN, ttl: REFRESH_MS, ttlResolution: 1_000 });

  has(owner: string, hash: string): boolean {
    return this.known.has(`${owner}:${hash}`);
  }

  add(owner: string, hashes: readonly string[]): void {
    for (const hash of hashes) this.known.set(`${owner}:${hash}`, true);
  }
}

import { createHash } from 'node:crypto';
import type { InputTokens } from '../framework/vendor.js';
import { type ChatBody, textOfContent } from './conversation.js';

const MAX_PREFIXES = 50_000;
const CHARS_A_TOKEN = 4;

/** The fewest tokens that are cached, and the step in which more are. */
export interface CacheUnits {
  readonly least: number;
  readonly step: number;
}

/** Counts the tokens of requests, and how many of them are at the beginning of an earlier one: the automatic cache of a vendor. */
export class PrefixCache {
  /** Hashes of prefixes that were sent. */
  private readonly seen = new Set<string>();

  constructor(private readonly units: CacheUnits) {}

  /** Counts a request and stores its prefixes. */
  count(body: ChatBody): InputTokens {
    const hash = createHash('sha256').update(JSON.stringify([body.model, body.tools]));
    let chars = 0;
    let cachedChars = 0;
    for (const message of body.messages) {
      chars += textOfContent(message.content).length;
      hash.update(JSON.stringify(message));
      const prefix = hash.copy().digest('base64');
      if (this.seen.has(prefix)) cachedChars = chars;
      this.seen.add(prefix);
    }
    for (const oldest of this.seen) {
      if (this.seen.size <= MAX_PREFIXES) break;
      this.seen.delete(oldest);
    }
    return { total: Math.ceil(chars / CHARS_A_TOKEN), cached: this.cached(cachedChars), cacheWritten: 0 };
  }

  private cached(chars: number): number {
    const tokens = Math.floor(chars / CHARS_A_TOKEN / this.units.step) * this.units.step;
    return tokens < this.units.least ? 0 : tokens;
  }
}

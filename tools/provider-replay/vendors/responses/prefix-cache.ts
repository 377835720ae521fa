import { createHash } from 'node:crypto';
import type { InputTokens } from '../../framework/vendor.js';

const CHARS_A_TOKEN = 4;
const STEP_TOKENS = 128;
const LEAST_TOKENS = 1024;
const MAX_ENTRIES = 100_000;

/**
 * The vendor's automatic cache of prompts: a prefix of at least 1024 tokens that an earlier request had is read, in steps of 128 tokens.
 * Requests with another model or another `prompt_cache_key` have a cache of their own.
 */
export class PrefixCache {
  private readonly prefixes = new Set<string>();

  /** Counts a prompt, given as text, and stores its prefixes. */
  meet(partition: string, prompt: string): InputTokens {
    const hash = createHash('sha256').update(JSON.stringify(partition));
    const total = Math.ceil(prompt.length / CHARS_A_TOKEN);
    const steps = Math.floor(total / STEP_TOKENS);
    let hits = 0;
    for (let step = 0; step < steps; step += 1) {
      const size = STEP_TOKENS * CHARS_A_TOKEN;
      const key = hash
        .update(prompt.slice(step * size, (step + 1) * size))
        .copy()
        .digest('base64');
      if (hits === step && this.prefixes.has(key)) hits += 1;
      this.prefixes.delete(key);
      this.prefixes.add(key);
    }
    this.dropOldest();
    const readable = hits * STEP_TOKENS;
    const cached = readable >= LEAST_TOKENS ? readable : 0;
    const storable = steps * STEP_TOKENS;
    return { total, cached, cacheWritten: storable >= LEAST_TOKENS ? storable - cached : 0 };
  }

  private dropOldest(): void {
    for (const key of this.prefixes) {
      if (this.prefixes.size <= MAX_ENTRIES) return;
      this.prefixes.delete(key);
    }
  }
}

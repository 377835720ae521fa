import { createHash } from 'node:crypto';
import type { PromptBlock } from './prompt.js';

const LOOKBACK_BLOCKS = 20;
const MAX_ENTRIES = 100_000;
const LIFETIME_MS = { '5m': 5 * 60_000, '1h': 60 * 60_000 } as const;
const CHARS_A_TOKEN = 4;

/** How the cache meets one prompt, in tokens. `written` are part of neither `read` nor the rest of `total`. */
export interface CacheUse {
  readonly total: number;
  readonly read: number;
  readonly written: { readonly '5m': number; readonly '1h': number };
  /** Stores what is written and prolongs what was read: the vendor does so when the answer begins. */
  commit(): void;
}

interface Entry {
  expiresAt: number;
  readonly lifetimeMs: number;
}

interface Boundary {
  readonly key: string;
  /** Tokens up to and including this block. */
  readonly tokens: number;
  readonly ttl: '5m' | '1h' | undefined;
}

export interface CachedPrompt {
  readonly model: string;
  readonly blocks: readonly PromptBlock[];
  readonly minTokens: number;
  /** What changes the meaning of messages but of nothing before them: tool_choice and thinking. */
  readonly messageOptions: unknown;
}

/** A cache of prompt prefixes: written at the client's marks, and read up to 20 blocks before each. */
export class PromptCache {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly nowMs: () => number = Date.now) {}

  /** Looks a prompt up; nothing is stored before `commit`. */
  meet(prompt: CachedPrompt): CacheUse {
    const boundaries = boundariesOf(prompt);
    const read = this.longestRead(boundaries);
    const readTokens = boundaries[read]?.tokens ?? 0;
    const writes = boundaries.filter(
      ({ ttl, tokens }) => ttl !== undefined && tokens > readTokens && tokens >= prompt.minTokens,
    );
    return {
      total: boundaries.at(-1)?.tokens ?? 0,
      read: readTokens,
      written: writtenTokens(writes, readTokens),
      commit: () => this.commit(boundaries[read], writes),
    };
  }

  /** Index of the last boundary that is stored and near enough before a mark; -1 without one. */
  private longestRead(boundaries: readonly Boundary[]): number {
    let best = -1;
    boundaries.forEach(({ ttl }, mark) => {
      if (ttl === undefined) return;
      for (let at = mark; at > best && at > mark - LOOKBACK_BLOCKS; at -= 1) {
        const boundary = boundaries[at];
        if (boundary !== undefined && this.isAlive(boundary.key)) best = at;
      }
    });
    return best;
  }

  private isAlive(key: string): boolean {
    return (this.entries.get(key)?.expiresAt ?? 0) > this.nowMs();
  }

  private commit(read: Boundary | undefined, writes: readonly Boundary[]): void {
    const entry = read === undefined ? undefined : this.entries.get(read.key);
    if (entry !== undefined) entry.expiresAt = this.nowMs() + entry.lifetimeMs;
    for (const { key, ttl } of writes) {
      const lifetimeMs = LIFETIME_MS[ttl ?? '5m'];
      this.entries.delete(key);
      this.entries.set(key, { expiresAt: this.nowMs() + lifetimeMs, lifetimeMs });
    }
    for (const key of this.entries.keys()) {
      if (this.entries.size <= MAX_ENTRIES) break;
      this.entries.delete(key);
    }
  }
}

function boundariesOf({ model, blocks, messageOptions }: CachedPrompt): Boundary[] {
  const hash = createHash('sha256').update(model);
  let tokens = 0;
  let inMessages = false;
  return blocks.map(({ part, owner, content, marks }) => {
    if (part === 'messages' && !inMessages) hash.update(JSON.stringify(messageOptions) ?? '');
    inMessages ||= part === 'messages';
    const text = JSON.stringify(content);
    hash.update(`${owner}:${text.length}:${text}`);
    tokens += Math.ceil(text.length / CHARS_A_TOKEN);
    return { key: hash.copy().digest('base64'), tokens, ttl: marks.at(-1)?.ttl };
  });
}

function writtenTokens(writes: readonly Boundary[], readTokens: number): CacheUse['written'] {
  const written = { '5m': 0, '1h': 0 };
  let before = readTokens;
  for (const { ttl, tokens } of writes) {
    written[ttl ?? '5m'] += tokens - before;
    before = tokens;
  }
  return written;
}

import type { AnthropicConfig } from '@caribou/config';
import type { CacheControl, OpaqueBlock, TextBlock, Turn } from './request-types.js';

/**
 * The mark of a breakpoint; undefined when caching is off. Breakpoints are the ends of the prefixes that the provider keeps in its
 * cache, in their order: the last tool, the static system prompt, and the last two turns of users. The end of the turn before the
 * last is the end of the last request, so it is found in the cache; the last one is written for the next request. These are the four
 * that a request may have (page "Prompt caching", platform.claude.com, November 2026).
 */
export function cacheControlOf({ promptCaching, cacheTtl }: AnthropicConfig): CacheControl | undefined {
  if (!promptCaching) return undefined;
  return cacheTtl === '5m' ? { type: 'ephemeral' } : { type: 'ephemeral', ttl: cacheTtl };
}

/** Marks the first block, which is the prompt of the agent; system messages of the thread are behind it. */
export function markSystem(system: readonly TextBlock[], mark: CacheControl | undefined): TextBlock[] {
  return system.map((block, index) => (index === 0 && mark !== undefined ? { ...block, cache_control: mark } : block));
}

/** Marks the last blocks of the last two turns of users, which are text, images, documents or results: all of them may be marked. */
export function markTurns(turns: readonly Turn<OpaqueBlock>[], mark: CacheControl | undefined): Turn<OpaqueBlock>[] {
  if (mark === undefined) return [...turns];
  const marked = new Set(turns.filter(({ role }) => role === 'user').slice(-2));
  return turns.map((turn) => {
    if (turn.role !== 'user' || !marked.has(turn)) return turn;
    const last = turn.content.at(-1);
    if (last === undefined) return turn;
    return { role: 'user', content: [...turn.content.slice(0, -1), { ...last, cache_control: mark }] };
  });
}

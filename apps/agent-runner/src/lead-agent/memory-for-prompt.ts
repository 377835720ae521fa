import type { ChainConfig } from '@caribou/config';
import { AppError, customAgentOf, DeadlineError, LEAD_AGENT } from '@caribou/contracts';
import type { MemoryStore, RunContext } from '@caribou/core';
import { loadTokenCounter, renderMemory } from '@caribou/memory';
import { LRUCache } from 'lru-cache';

/** Longest wait of a run for what is remembered. */
const READ_MS = 2_000;
/** Why the wait for it ends when it was read. */
const IN_TIME = new Error('read in time');
/** Texts kept for the next run of a person, and UTF-16 units of them. */
const MAX_CACHED_TEXTS = 5_000;
const MAX_CACHED_CHARS = 4_000_000;

export type MemoryForPrompt = (run: RunContext) => Promise<string>;

const isShown = ({ enabled, injection_enabled: injected }: ChainConfig['memory']): boolean => enabled && injected;

/** Loads what long memories are counted with, while no run would be held up by it. */
export async function prepareMemories(section: ChainConfig['memory']): Promise<void> {
  if (isShown(section)) await loadTokenCounter();
}

/**
 * What a run's prompt tells of earlier conversations: the memory of the custom agent that is spoken to, else the
 * user's own; '' when there is none. A memory that cannot be read costs the run nothing but that. The memory is read for
 * every run, and its text made anew when its revision is another one.
 *
 * The returned function throws the signal's reason when the run was aborted, and nothing else.
 */
export function memoryForPrompt(memories: Pick<MemoryStore, 'read'>, section: ChainConfig['memory']): MemoryForPrompt {
  if (!isShown(section)) return () => Promise.resolve('');
  const { max_injection_tokens: maxTokens } = section;
  const texts = new LRUCache<string, { readonly revision: number; readonly text: string }>({
    max: MAX_CACHED_TEXTS,
    maxSize: MAX_CACHED_CHARS,
    sizeCalculation: ({ text }) => text.length + 1,
  });
  return async (run) => {
    const { userId, context, signal, logger } = run;
    signal.throwIfAborted();
    try {
      const agent = customAgentOf(context) ?? LEAD_AGENT;
      const { document, revision } = await withReadTimeout(memories.read({ userId, agent }), run);
      const known = texts.get(`${userId}/${agent}`);
      const text = known?.revision === revision ? known.text : await renderMemory(document, maxTokens);
      texts.set(`${userId}/${agent}`, { revision, text });
      if (text !== '') run.recordDecision('memory', 'shown', { revision, bytes: Buffer.byteLength(text) });
      return text;
    } catch (error) {
      signal.throwIfAborted();
      const fields = { event: 'memory.unread', error };
      const words = 'the run goes on without what is remembered';
      if (error instanceof AppError && error.expected) logger.warn(fields, words);
      else logger.error(fields, words);
      return '';
    }
  };
}

/** @throws {DeadlineError} when it takes longer than `READ_MS`; the signal's reason when the run is aborted first */
async function withReadTimeout<T>(work: Promise<T>, { clock, signal }: RunContext): Promise<T> {
  const over = new AbortController();
  // Every run pays for this: a listener costs a tenth of what `AbortSignal.any` does.
  const stop = (): void => over.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const late = clock.sleep(READ_MS, over.signal).then(() => {
    throw new DeadlineError(`no memory within ${READ_MS} ms`, { details: { afterMs: READ_MS } });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    signal.removeEventListener('abort', stop);
    over.abort(IN_TIME);
  }
}

import type { ChainConfig } from '@caribou/config';
import { AppError, customAgentOf, DeadlineError, LEAD_AGENT } from '@caribou/contracts';
import type { MemoryStore, RunContext } from '@caribou/core';
import { loadTokenCounter, renderMemory } from '@caribou/memory';
import { LRUCache } from 'lru-cache';

/** Maximum time for which a run waits for the memory. */
const READ_MS = 2_000;
/** Bounds of the cache of rendered memories: number of texts, and UTF-16 units of all. */
const MAX_CACHED_TEXTS = 5_000;
const MAX_CACHED_CHARS = 4_000_000;

/** A memory that is being read; undefined where none is shown. */
export type ReadMemory = ReturnType<MemoryStore['read']> | undefined;

export interface MemoryForPrompt {
  /** Begins to read the memory for a run. */
  read(run: Pick<RunContext, 'userId' | 'context'>): ReadMemory;
  /**
   * The text for the prompt of a run; undefined when the memory could not be read.
   *
   * @param reading the memory, where it is being read already
   * @throws the signal's reason when the run was aborted, and nothing else
   */
  textFor(run: RunContext, reading?: ReadMemory): Promise<string | undefined>;
}

const isShown = ({ enabled, injection_enabled: injected }: ChainConfig['memory']): boolean => enabled && injected;

/** Loads the token counter for long memories at start-up, so that no run has to wait for it. */
export async function prepareMemories(section: ChainConfig['memory']): Promise<void> {
  if (isShown(section)) await loadTokenCounter();
}

/**
 * The text about earlier conversations in a run's prompt: the user's memory for the custom agent of the run, or else
 * for the lead agent; '' when there is none. When the memory cannot be read, the run continues without it, or with what
 * the thread was shown before. The memory is read for every run, and its text is rendered again when the revision has changed.
 */
export function memoryForPrompt(memories: Pick<MemoryStore, 'read'>, section: ChainConfig['memory']): MemoryForPrompt {
  if (!isShown(section)) return { read: () => undefined, textFor: () => Promise.resolve('') };
  const { max_injection_tokens: maxTokens } = section;
  const texts = new LRUCache<string, { readonly revision: number; readonly text: string }>({
    max: MAX_CACHED_TEXTS,
    maxSize: MAX_CACHED_CHARS,
    sizeCalculation: ({ text }) => text.length + 1,
  });
  const read = (run: Pick<RunContext, 'userId' | 'context'>) => memories.read(scopeOf(run));
  const textFor: MemoryForPrompt['textFor'] = async (run, reading) => {
    const { signal, logger } = run;
    signal.throwIfAborted();
    try {
      const { userId, agent } = scopeOf(run);
      const { document, revision } = await withReadTimeout(reading ?? read(run), run);
      const known = texts.get(`${userId}/${agent}`);
      const text = known?.revision === revision ? known.text : await renderMemory(document, maxTokens);
      texts.set(`${userId}/${agent}`, { revision, text });
      if (text !== '') run.recordDecision('memory', 'shown', { revision, bytes: Buffer.byteLength(text) });
      return text;
    } catch (error) {
      signal.throwIfAborted();
      const fields = { event: 'memory.unread', error };
      const text = 'the run continues without the memory, which could not be read';
      if (error instanceof AppError && error.expected) logger.warn(fields, text);
      else logger.error(fields, text);
      return undefined;
    }
  };
  return { read, textFor };
}

const scopeOf = ({ userId, context }: Pick<RunContext, 'userId' | 'context'>) => ({
  userId,
  agent: customAgentOf(context) ?? LEAD_AGENT,
});

/** @throws {DeadlineError} when it takes longer than `READ_MS`; the signal's reason when the run is aborted first */
function withReadTimeout<T>(work: Promise<T>, { signal }: RunContext): Promise<T> {
  return new Promise((resolve, reject) => {
    // Every run executes this: a timer and a listener take a fraction of the time of an `AbortController`.
    const stop = (): void => reject(signal.reason);
    const late = setTimeout(
      () => reject(new DeadlineError(`no memory within ${READ_MS} ms`, { details: { afterMs: READ_MS } })),
      READ_MS,
    );
    signal.addEventListener('abort', stop, { once: true });
    void work.then(resolve, reject).finally(() => {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
    });
  });
}

import { emptyMemory, type MemoryDocument } from '@caribou/contracts';
import { renderMemory } from '@caribou/memory';
import { createRedis, redisMemoryStore } from '@caribou/state';
import { inTurn, median } from '../sample.js';

/** The cost of memory in the prompt of a run. */
export interface PromptMemoryCost {
  /** Milliseconds until the tokenizer has counted for the first time, and bytes the process grew by it. */
  readonly tokenizerMs: number;
  readonly tokenizerBytes: number;
  readonly memories: readonly MemoryCost[];
}

export interface MemoryCost {
  readonly facts: number;
  /** The tokens of the text in the prompt. */
  readonly chars: number;
  /** Milliseconds to read it from Redis, for every run. */
  readonly readMs: number;
  /** Milliseconds to format its text, for the first run after a change. */
  readonly textMs: number;
}

const MAX_TOKENS = 2_000;

/** Measures memories of several sizes in this process, each `rounds` times. */
export async function promptMemoryCost(redisUrl: string, rounds: number): Promise<PromptMemoryCost> {
  const bytesBefore = process.memoryUsage.rss();
  const startMs = performance.now();
  await renderMemory(memoryOf(100), MAX_TOKENS);
  const tokenizerMs = performance.now() - startMs;
  const tokenizerBytes = process.memoryUsage.rss() - bytesBefore;
  const redis = createRedis({ url: redisUrl });
  const store = redisMemoryStore(redis);
  const sizes = [5, 50, 100];
  const memories = await inTurn(sizes.length, async (index): Promise<MemoryCost> => {
    const facts = sizes[index] ?? 0;
    const document = memoryOf(facts);
    const scope = { userId: 'bench', agent: `facts-${facts}` };
    const { revision } = await store.read(scope);
    await store.write(scope, { document, expectedRevision: revision, cause: { kind: 'imported' } });
    const readMs = await timeOf(rounds, () => store.read(scope));
    const textMs = await timeOf(rounds, () => renderMemory(document, MAX_TOKENS));
    return { facts, chars: (await renderMemory(document, MAX_TOKENS)).length, readMs, textMs };
  });
  await store.eraseUser('bench');
  await redis.close();
  return { tokenizerMs, tokenizerBytes, memories };
}

const timeOf = async (rounds: number, work: () => Promise<unknown>): Promise<number> =>
  median(
    await inTurn(rounds, async () => {
      const startMs = performance.now();
      await work();
      return performance.now() - startMs;
    }),
  );

const SENTENCE = 'prefers small modules, typed languages and quiet mornings, and works on harbours and their ships';

const memoryOf = (facts: number): MemoryDocument => ({
  ...emptyMemory(),
  facts: Array.from({ length: facts }, (_, at) => ({
    id: `fact_${at}`,
    content: `Number ${at} ${SENTENCE}.`,
    category: 'preference',
    confidence: 0.7 + (at % 30) / 100,
    createdAt: '2026-03-14T10:00:00Z',
    source: 'unknown',
  })),
});

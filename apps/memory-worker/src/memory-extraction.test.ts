import { LEAD_AGENT, ModelError, UnavailableError } from '@caribou/contracts';
import {
  type MemoryJob,
  type MemoryJobs,
  type MemoryStore,
  silentLogger,
  systemClock,
  type ThreadKey,
} from '@caribou/core';
import type { Extraction } from '@caribou/memory';
import { redisMemoryJobs, redisMemoryStore } from '@caribou/state';
import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { MemoryExtraction } from './memory-extraction.js';

let stores: StoreFixture;
let jobs: MemoryJobs;
let memories: MemoryStore;

useStore(
  (opened) => {
    stores = opened;
    jobs = redisMemoryJobs(stores.redis, { debounceMs: 0, leaseMs: 60_000 });
    memories = redisMemoryStore(stores.redis);
  },
  { leaseMs: 60_000 },
);

const scope = { userId: 'alice', agent: LEAD_AGENT };
const learnt = (content: string, more: Partial<Extraction> = {}): Extraction => ({
  sections: {},
  newFacts: [{ content, category: 'context', confidence: 0.9 }],
  factsToRemove: [],
  ...more,
});

async function say(key: ThreadKey, text: string): Promise<void> {
  await stores.admit(key);
  const claimed = await stores.claim(key);
  await stores.step(claimed, { messages: [human(text), ai('noted')] });
  await stores.finish(claimed, { remember: { agent: LEAD_AGENT } });
}

async function take(key: ThreadKey): Promise<MemoryJob> {
  const job = await jobs.take({ ...key, agent: LEAD_AGENT }, 'w1');
  if (job === null) throw new Error('the job cannot be taken');
  return job;
}

interface Made {
  readonly read: () => Promise<Extraction>;
  readonly jobs?: MemoryJobs;
  readonly letters?: unknown[];
  readonly onLetter?: () => Promise<void>;
}

const extractionWith = ({ read, jobs: given = jobs, letters = [], onLetter }: Made): MemoryExtraction =>
  new MemoryExtraction(
    {
      jobs: given,
      memories,
      model: { extract: read },
      deadLetter: async (id, entry) => {
        await onLetter?.();
        letters.push({ id, ...entry });
      },
      clock: systemClock,
      logger: silentLogger,
      clocks: { leaseMs: 60_000, renewMs: 20_000 },
      metrics: { memoryRead: () => undefined, fenced: () => undefined },
    },
    { maxFacts: 100, confidenceThreshold: 0.7, maxAttempts: 2, baseDelayMs: 0, capDelayMs: 0, giveUpMs: 86_400_000 },
  );

const never = new AbortController().signal;
const facts = async (): Promise<string[]> => (await memories.read(scope)).document.facts.map(({ content }) => content);

describe(MemoryExtraction, () => {
  test('an extracted fact is stored with its thread, and the job is done', async () => {
    const key = thread();
    await say(key, 'I live in Oslo');
    const extraction = extractionWith({ read: () => Promise.resolve(learnt('Lives in Oslo')) });
    expect(await extraction.run(await take(key), never)).toBe('learnt');
    const { document } = await memories.read(scope);
    expect(document.facts).toMatchObject([{ content: 'Lives in Oslo', source: key.threadId }]);
    expect((await jobs.ready(10)).due).toBe(0);
  });

  test('a conversation without content causes no model call', async () => {
    const key = thread();
    await say(key, 'thanks');
    const extraction = extractionWith({ read: () => Promise.reject(new Error('asked')) });
    expect(await extraction.run(await take(key), never)).toBe('nothing');
    expect((await jobs.ready(10)).due).toBe(0);
  });

  test('an answer that changes nothing ends the job without a change', async () => {
    const key = thread();
    await say(key, 'I live in Oslo');
    const nothing = { sections: {}, newFacts: [], factsToRemove: [] };
    expect(await extractionWith({ read: () => Promise.resolve(nothing) }).run(await take(key), never)).toBe('nothing');
    expect(await memories.history(scope)).toEqual([]);
  });

  test('the same answer is applied to a memory that others changed meanwhile', async () => {
    const key = thread();
    await say(key, 'I live in Oslo');
    let calls = 0;
    const read = async (): Promise<Extraction> => {
      calls += 1;
      const { document, revision } = await memories.read(scope);
      const fact = {
        id: 'f1',
        content: 'by hand',
        category: 'goal',
        confidence: 1,
        createdAt: '2026-01-01T00:00:00Z',
        source: 'manual',
      } as const;
      await memories.write(scope, {
        document: { ...document, facts: [...document.facts, fact], lastUpdated: '2026-01-01T00:00:00Z' },
        expectedRevision: revision,
        cause: { kind: 'fact_added' },
      });
      return learnt('Lives in Oslo');
    };
    expect(await extractionWith({ read }).run(await take(key), never)).toBe('learnt');
    expect(await facts()).toEqual(['by hand', 'Lives in Oslo']);
    expect(calls).toBe(1);
  });

  test('an answer based on a memory that was cleared meanwhile is discarded, and the model is called again', async () => {
    const [first, second] = [thread(), thread()];
    await say(first, 'I live in Oslo');
    await extractionWith({ read: () => Promise.resolve(learnt('Lives in Oslo')) }).run(await take(first), never);
    await say(second, 'I like tea');
    const answers = [
      async () => {
        const { document, revision } = await memories.read(scope);
        const empty = { ...document, facts: [] };
        await memories.write(scope, { document: empty, expectedRevision: revision, cause: { kind: 'cleared' } });
        return learnt('Likes tea', { sections: { topOfMind: 'Lives in Oslo and likes tea.' } });
      },
      () => Promise.resolve(learnt('Likes tea', { sections: { topOfMind: 'Likes tea.' } })),
    ];
    let call = 0;
    const extraction = extractionWith({
      read: () => answers[call++]?.() ?? Promise.reject(new Error('asked too often')),
    });
    expect(await extraction.run(await take(second), never)).toBe('learnt');
    expect(call).toBe(2);
    expect((await memories.read(scope)).document.user.topOfMind.summary).toBe('Likes tea.');
  });

  test.each([
    ['with a dead letter', () => Promise.resolve()],
    ['also when no dead letter can be written', () => Promise.reject(new UnavailableError('NATS is away'))],
  ])('a conversation that cannot be extracted is retried, then dead-lettered, %s', async (_, onLetter) => {
    const letters: unknown[] = [];
    const key = thread();
    await say(key, 'poison');
    const read = () => Promise.reject(new ModelError('x', { details: { reason: 'bad_answer' } }));
    const extraction = extractionWith({ read, letters, onLetter });
    expect(await extraction.run(await take(key), never)).toBe('retry');
    expect(await extraction.run(await take(key), never)).toBe('dead');
    expect((await memories.status('alice')).dead).toMatchObject([{ reason: 'the model: bad_answer' }]);
    expect((await jobs.ready(10)).due).toBe(0);
    for (const letter of letters)
      expect(letter).toEqual({
        id: expect.stringContaining(key.threadId),
        user_id: 'alice',
        thread_id: key.threadId,
        agent: LEAD_AGENT,
        after_entry: 0,
        to_entry: 2,
        attempts: 2,
        reason: 'the model: bad_answer',
      });
  });

  test('an extraction that is stopped returns its job at once, and the attempt does not count', async () => {
    const key = thread();
    await say(key, 'I live in Oslo');
    const stop = new AbortController();
    const read = () => {
      stop.abort(new Error('draining'));
      return Promise.reject(stop.signal.reason as Error);
    };
    expect(await extractionWith({ read }).run(await take(key), stop.signal)).toBe('retry');
    expect(await take(key)).toMatchObject({ attempts: 0, failingMs: 0 });
  });

  test('a worker that lost the job writes nothing', async () => {
    const key = thread();
    await say(key, 'I live in Oslo');
    const read = async (): Promise<Extraction> => {
      await stores.redis.use((client) => client.hdel(stores.redis.keys.memoryJob(key).jobs, `lease:${LEAD_AGENT}`));
      return learnt('Lives in Oslo');
    };
    expect(await extractionWith({ read }).run(await take(key), never)).toBe('lost');
    expect(await facts()).toEqual([]);
  });

  test('a crash at any call of the store neither loses nor duplicates facts', async () => {
    let release = (): void => undefined;
    const blocked = new Promise<never>((_, reject) => (release = () => reject(new UnavailableError('dead'))));
    const dead: Promise<unknown>[] = [];
    for (const name of ['messages', 'complete'] as const) {
      for (const after of [false, true]) {
        const key = thread();
        const text = `${name} ${String(after)}`;
        await say(key, text);
        const job = await take(key);
        let died = (): void => undefined;
        const death = new Promise<void>((resolve) => (died = resolve));
        const mortal: MemoryJobs = {
          ...jobs,
          [name]: async (...args: unknown[]) => {
            if (after) await (jobs[name] as (...given: unknown[]) => Promise<unknown>)(...args);
            died();
            return await blocked;
          },
        };
        const read = () => Promise.resolve(learnt(text));
        dead.push(extractionWith({ read, jobs: mortal }).run(job, never));
        await death;
        await stores.redis.use((client) => client.hdel(stores.redis.keys.memoryJob(key).jobs, `until:${LEAD_AGENT}`));
        await stores.redis.use((client) =>
          client.zadd(stores.redis.keys.memoryQueue, 'XX', 1, `alice/${key.threadId}/${LEAD_AGENT}`),
        );
        const again = await jobs.take({ ...key, agent: LEAD_AGENT }, 'w2');
        expect(again === null).toBe(name === 'complete' && after);
        if (again !== null) expect(await extractionWith({ read }).run(again, never)).toBe('learnt');
        expect((await facts()).filter((fact) => fact === text)).toHaveLength(1);
      }
    }
    expect(await memories.history(scope)).toHaveLength(4);
    release();
    expect(await Promise.all(dead)).toEqual(['lost', 'lost', 'lost', 'lost']);
  });
});

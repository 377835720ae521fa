import { LEAD_AGENT } from '@caribou/contracts';
import type { MemoryStore } from '@caribou/core';
import { createRedis, type RedisConnection, redisMemoryStore } from '@caribou/state';
import { startProxy, type TestService, waitFor, waitForOutput } from '@caribou/testing';
import { runBody } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(240_000);

const USER = 'default';
const scope = { userId: USER, agent: LEAD_AGENT };
const CONFIG = `memory:
  debounce_seconds: 1
  max_facts: 500
  worker_slots: 8
  max_attempts: 3
  retry_base_delay_ms: 200
  retry_cap_delay_ms: 1000
`;
const THREADS = 100;

let stack: Stack;
let redis: RedisConnection;
let memories: MemoryStore;
let workers: TestService[] = [];

beforeAll(async () => {
  stack = await startStack({ config: CONFIG });
  redis = createRedis({ url: stack.redis.url });
  memories = redisMemoryStore(redis);
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill9()));
  workers = [];
  await memories.eraseUser(USER);
  await fetch(`${stack.model.url}/control/reset`, { method: 'POST' });
});
afterAll(async () => {
  await redis.close();
  await stack.stop();
});

async function startWorker(env: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const worker = await stack.start('memory-worker', env);
  workers.push(worker);
  return worker;
}

/** A whole turn in which the user writes this text. */
async function say(threadId: string, words: string): Promise<void> {
  const { status } = await stack.client().call('POST', `/threads/${threadId}/runs/wait`, runBody(`#say ok\n${words}`));
  expect(status).toBe(200);
}

const facts = async (): Promise<string[]> => (await memories.read(scope)).document.facts.map(({ content }) => content);
/** How often a model got this text to read; the memory in its prompt may contain it, too. */
const readings = (words: string): number =>
  stack.model.requests(words).filter(({ body }) => JSON.stringify(body).split('<conversation>')[1]?.includes(words))
    .length;
const holding = (gate: string): Promise<unknown> =>
  waitFor(() => Promise.resolve(stack.model.listHolds().some(({ name }) => name === gate)), {
    what: `the hold ${gate}`,
  });
const learnt = (words: string, timeoutMs = 30_000): Promise<unknown> =>
  waitFor(async () => (await facts()).some((fact) => fact.includes(words)), { what: `the fact ${words}`, timeoutMs });
const allRead = (): Promise<unknown> =>
  waitFor(async () => (await memories.status(USER)).due === 0, { what: 'everything to be read', timeoutMs: 60_000 });
const fieldOf = async (threadId: string, field: string): Promise<number> => {
  const { jobs } = redis.keys.memoryJob({ userId: USER, threadId });
  return Number((await redis.use((client) => client.hget(jobs, `${field}:${LEAD_AGENT}`))) ?? 0);
};

describe('what users say is remembered', () => {
  test('two quick turns are read together, with the latest message, and a later one alone', async () => {
    await startWorker();
    const word = nonce();
    const threadId = await stack.client().newThread();
    await say(threadId, `I live in Oslo ${word}`);
    await say(threadId, `I like tea ${word}`);
    await learnt(`I like tea ${word}`);
    expect(await facts()).toEqual([`I live in Oslo ${word}`, `I like tea ${word}`]);
    expect(readings(word)).toBe(1);
    const [fact] = (await memories.read(scope)).document.facts;
    expect(fact).toMatchObject({ source: threadId, category: 'context', confidence: 0.95 });

    await say(threadId, `I want a boat ${word}`);
    await learnt(`I want a boat ${word}`);
    const conversation = JSON.stringify(stack.model.requests(`a boat ${word}`).at(-1)?.body).split('<conversation>')[1];
    expect(conversation).not.toContain('Oslo');
    expect(await memories.status(USER)).toMatchObject({ due: 0, running: 0, dead: [] });
    expect(await memories.history(scope)).toHaveLength(2);
  });

  test('corrections replace what they contradict, malformed JSON is read, small talk is not stored', async () => {
    await startWorker();
    const threadId = await stack.client().newThread();
    await say(threadId, 'I live in Oslo');
    await learnt('I live in Oslo');
    await say(threadId, "No, that's wrong: it is Rome. Forget: Oslo. memory-sloppy");
    await learnt('it is Rome');
    expect(await facts()).toEqual(['it is Rome.']);
    const calls = stack.model.requests('<current_memory>').length;
    expect((await stack.client().call('POST', `/threads/${threadId}/runs/wait`, runBody('Thanks!'))).status).toBe(200);
    await allRead();
    expect(stack.model.requests('<current_memory>')).toHaveLength(calls);
  });

  test('constant messages in other threads do not delay a quiet one', async () => {
    await startWorker();
    const word = nonce();
    const loud = await Promise.all([1, 2, 3].map(() => stack.client().newThread()));
    const quiet = await stack.client().newThread();
    let talking = true;
    const talk = loud.map(async (threadId) => {
      for (let turn = 0; talking; turn += 1) await say(threadId, `loud ${turn}`);
    });
    await say(quiet, `Remember: ${word}`);
    await learnt(word);
    expect(talking).toBe(true);
    expect((await memories.status(USER)).due).toBeGreaterThan(0);
    talking = false;
    await Promise.all(talk);
  });

  test('two threads that change one memory at the same time both do', async () => {
    await startWorker();
    const [one, other] = [await stack.client().newThread(), await stack.client().newThread()];
    await Promise.all([say(one, 'I like tea memory-hold:one'), say(other, 'I like boats memory-hold:other')]);
    await Promise.all([holding('one'), holding('other')]);
    stack.model.release('one');
    stack.model.release('other');
    await allRead();
    const said = await facts();
    expect(said).toHaveLength(2);
    expect(said.join()).toMatch(/tea.*boats|boats.*tea/);
    const { summary } = (await memories.read(scope)).document.user.topOfMind;
    expect(summary).toContain('tea');
    expect(summary).toContain('boats');
    expect(stack.model.requests('<current_memory>')).toHaveLength(2);
  });

  test('an extraction that is under way during an erasure stores nothing', async () => {
    await startWorker();
    const threadId = await stack.client().newThread();
    await say(threadId, 'I live in Oslo memory-hold:erase');
    await holding('erase');
    await memories.eraseUser(USER);
    stack.model.release('erase');
    await say(threadId, 'I like tea');
    await learnt('I like tea');
    expect(await facts()).toEqual(['I like tea']);
  });
});

describe('a memory-worker that dies', () => {
  test('while a thread is not quiet yet: another one reads it', async () => {
    const word = nonce();
    const doomed = await startWorker();
    const threadId = await stack.client().newThread();
    await say(threadId, `Remember: ${word}`);
    await doomed.kill9();
    expect(await facts()).toEqual([]);
    await startWorker();
    await learnt(word);
    expect(await facts()).toHaveLength(1);
    expect(readings(word)).toBe(1);
  });

  test('while the model reads: another one reads it again, and the fact is there once', async () => {
    const word = nonce();
    const doomed = await startWorker();
    const threadId = await stack.client().newThread();
    await say(threadId, `Remember: ${word} memory-hold:reading`);
    await holding('reading');
    await doomed.kill9();
    stack.model.release('reading');
    await startWorker();
    await learnt(word);
    await allRead();
    expect(readings(word)).toBe(2);
    expect(await facts()).toHaveLength(1);
    expect(await memories.history(scope)).toHaveLength(1);
  });

  test('after the memory was written, before the worker knows: nothing is left to do', async () => {
    const word = nonce();
    const proxy = await startProxy({ target: stack.redis.port });
    const doomed = await startWorker({ REDIS_URL: stack.urlOf('memory-worker', 'redis', proxy.port) });
    const threadId = await stack.client().newThread();
    // The script's parameters have names, and no other script has a document among its texts.
    const written = proxy.hold('reply', { in: 'request', bytes: (seen) => seen.includes('"lastUpdated"') });
    await say(threadId, `Remember: ${word}`);
    await written.reached;
    await learnt(word);
    await doomed.kill9();
    await proxy.stop();
    const before = await memories.read(scope);
    await startWorker();
    await say(await stack.client().newThread(), 'I like tea');
    await learnt('I like tea');
    expect(readings(word)).toBe(1);
    expect((await facts()).filter((fact) => fact.includes(word))).toHaveLength(1);
    expect(await memories.history(scope)).toHaveLength(2);
    expect((await memories.history(scope))[1]?.revision).toBe(before.revision);
  });

  test('paused past its lease: it finds itself fenced, and the fact is there once', async () => {
    const word = nonce();
    const zombie = await startWorker();
    const threadId = await stack.client().newThread();
    await say(threadId, `Remember: ${word} memory-hold:zombie`);
    await holding('zombie');
    zombie.pause();
    await startWorker();
    await waitFor(() => Promise.resolve(readings(word) === 2), { what: 'the takeover' });
    stack.model.release('zombie');
    await learnt(word);
    await allRead();
    zombie.resume();
    await waitForOutput(zombie, '"outcome":"lost"');
    expect(await memories.history(scope)).toHaveLength(1);
    expect(await facts()).toHaveLength(1);
  });

  test('in order, at SIGTERM: it ends in time, and another continues', async () => {
    const word = nonce();
    const leaving = await startWorker();
    const threadId = await stack.client().newThread();
    await say(threadId, `Remember: ${word} memory-hold:leaving`);
    await holding('leaving');
    expect(await leaving.terminate()).toEqual({ code: 0, signal: null });
    expect(await memories.status(USER)).toMatchObject({ due: 1, running: 0 });
    stack.model.release('leaving');
    await startWorker();
    await learnt(word);
  });
});

describe('an extraction that fails', () => {
  test('waits for an unavailable model, without counting attempts', async () => {
    await startWorker();
    const word = nonce();
    const threadId = await stack.client().newThread();
    await say(threadId, `Remember: ${word} memory-fails:401x5`);
    await learnt(word);
    expect(readings(word)).toBe(6);
    expect((await memories.status(USER)).dead).toEqual([]);
  });

  test('because of its text is dead-lettered in the end, and blocks nothing', async () => {
    const worker = await startWorker();
    const word = nonce();
    const threadId = await stack.client().newThread();
    await say(threadId, `memory-says:I would rather not. ${word}`);
    await say(await stack.client().newThread(), 'I like tea');
    await learnt('I like tea');
    const status = await waitFor(
      async () => {
        const now = await memories.status(USER);
        return now.dead.length > 0 && now;
      },
      { what: 'the poison to be set aside' },
    );
    expect(status).toMatchObject({ due: 0, dead: [{ threadId, agent: LEAD_AGENT, reason: 'the model: bad_answer' }] });
    expect(readings(word)).toBe(3);
    await waitForOutput(worker, '"event":"memory.dead"');
    await say(threadId, `I like boats ${word}`);
    await learnt(`I like boats ${word}`);
  });
});

test('two workers and 100 threads, killed at random: everything is remembered once, and no watermark falls', async () => {
  const words = Array.from({ length: THREADS }, (_, at) => `item ${at} of ${THREADS}`);
  const threads: string[] = [];
  const left = [...words];
  await Promise.all([startWorker(), startWorker()]);
  const speakers = Array.from({ length: 10 }, async () => {
    for (let word = left.pop(); word !== undefined; word = left.pop()) {
      const threadId = await stack.client().newThread();
      threads.push(threadId);
      await say(threadId, `Remember: ${word}.\nmemory-wait:1000`);
    }
  });
  const marks = new Map<string, number>();
  const falls: string[] = [];
  const watch = async (): Promise<void> => {
    for (const threadId of threads) {
      const mark = await fieldOf(threadId, 'watermark');
      if (mark < (marks.get(threadId) ?? 0)) falls.push(threadId);
      marks.set(threadId, mark);
    }
  };
  let kills = 0;
  const done = Promise.all(speakers);
  await waitFor(
    async () => {
      await watch();
      const { due } = await memories.status(USER);
      if (left.length === 0 && due === 0 && threads.length === THREADS) return true;
      const victim = workers[Math.floor(Math.random() * workers.length)];
      if (victim !== undefined && kills < 10) {
        kills += 1;
        workers = workers.filter((worker) => worker !== victim);
        await victim.kill9();
        await startWorker();
      }
      return false;
    },
    { what: 'everything to be read', timeoutMs: 180_000, everyMs: 200 },
  );
  await done;
  await allRead();
  await watch();
  const said = await facts();
  expect(said.map((fact) => fact.replace(/\.$/, '')).sort()).toEqual([...words].sort());
  expect(falls).toEqual([]);
  expect([...marks.values()].every((mark) => mark === 2)).toBe(true);
  expect(kills).toBeGreaterThan(2);
  expect(await memories.status(USER)).toMatchObject({ due: 0, running: 0, dead: [] });
});

import { emptyMemory, FencedError, type MemoryDocument, type MemoryFact, textOf } from '@caribou/contracts';
import type { JobProgress, MemoryJob, MemoryJobs, MemoryStore, MemoryUpdate, ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';
import { memoryMember } from '../../redis/keys.js';
import { redisMemoryJobs } from './memory-jobs.js';
import { redisMemoryStore } from '../memory-store.js';

let stores: StoreFixture;
let memories: MemoryStore;
let jobs: MemoryJobs;

const DEBOUNCE_MS = 60_000;

useStore(
  (opened) => {
    stores = opened;
    memories = redisMemoryStore(stores.redis);
    jobs = redisMemoryJobs(stores.redis, { debounceMs: 0, leaseMs: 60_000 });
  },
  { leaseMs: 60_000 },
);

const agent = 'lead_agent';

/** A run that is queued for memory extraction. */
async function say(key: ThreadKey, words: string, as = agent): Promise<void> {
  await stores.admit(key);
  const claimed = await stores.claim(key);
  await stores.step(claimed, { messages: [human(words), ai(`you said: ${words}`)] });
  await stores.finish(claimed, { remember: { agent: as } });
}

async function take(key: ThreadKey, owner = 'w1', from = jobs): Promise<MemoryJob> {
  const job = await from.take({ ...key, agent }, owner);
  if (job === null) throw new Error('the job is not to be had');
  return job;
}

const progress = (watermark: number, more: Partial<JobProgress> = {}): JobProgress => ({
  watermark,
  seen: [],
  more: false,
  ...more,
});

const withFact = (content: string): MemoryDocument => {
  const fact: MemoryFact = {
    id: 'f1',
    content,
    category: 'context',
    confidence: 1,
    createdAt: '2026-03-14T10:00:00Z',
    source: 't',
  };
  return { ...emptyMemory('2026-03-14T10:00:00Z'), facts: [fact] };
};
const learnt = (content: string, expectedRevision = 0): MemoryUpdate => ({
  document: withFact(content),
  before: emptyMemory(),
  expectedRevision,
  cause: { kind: 'extraction', threadId: 't' },
});

const ready = async (from = jobs): Promise<string[]> =>
  (await from.ready(100)).jobs.map((job) => memoryMember(job, job.agent));
const memoryOf = async (userId = 'alice') => (await memories.read({ userId, agent })).document.facts;

describe(redisMemoryJobs, () => {
  test('a thread is ready once no message was added for the debounce time, whatever other threads do', async () => {
    const patient = redisMemoryJobs(stores.redis, { debounceMs: DEBOUNCE_MS, leaseMs: 60_000 });
    const [quiet, loud] = [thread(), thread()];
    await say(quiet, 'one');
    await say(loud, 'two');
    const { due } = stores.redis.keys.memoryJob(quiet);
    await stores.redis.use((client) => client.zincrby(due, -DEBOUNCE_MS, memoryMember(quiet, agent)));
    const { jobs: found, nextInMs } = await patient.ready(10);
    expect(found).toEqual([{ ...quiet, agent }]);
    expect(nextInMs).toBeGreaterThan(DEBOUNCE_MS - 20_000);
    expect(nextInMs).toBeLessThanOrEqual(DEBOUNCE_MS);
    expect(await patient.take({ ...loud, agent }, 'w1')).toBeNull();
    await say(quiet, 'three');
    expect((await patient.ready(10)).jobs).toEqual([]);
    expect(await patient.take({ ...quiet, agent }, 'w1')).toBeNull();
  });

  test('without jobs none is ready, and no next time is returned', async () => {
    expect(await jobs.ready(10)).toEqual({ jobs: [], nextInMs: null, due: 0 });
    expect(await jobs.take({ ...thread(), agent }, 'w1')).toBeNull();
  });

  test('of several workers one takes a job, and reads the messages by number', async () => {
    const key = thread();
    await say(key, 'I live in Oslo');
    const taken = await Promise.all(['w1', 'w2', 'w3'].map((owner) => jobs.take({ ...key, agent }, owner)));
    const [job, ...others] = taken.filter((one) => one !== null);
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      said: 1,
      watermark: 0,
      lastEntry: 2,
      attempts: 0,
      failingMs: 0,
      seen: [],
    });
    expect(await ready()).toEqual([]);
    expect(await memories.status('alice')).toMatchObject({ due: 1, running: 1 });
    const { messages, last } = await jobs.messages(key, { after: 0, to: job?.lastEntry ?? 0 });
    expect(messages.map(({ entry, message }) => [entry, textOf(message.content)])).toEqual([
      [1, 'I live in Oslo'],
      [2, 'you said: I live in Oslo'],
    ]);
    expect(last).toBe(2);
    expect((await jobs.messages(key, { after: 1, to: 2 })).messages.map(({ entry }) => entry)).toEqual([2]);
    expect((await jobs.messages({ ...key, userId: 'bob' }, { after: 0, to: 2 })).messages).toEqual([]);
  });

  test('entries of a run that was rolled back are skipped, and their numbers are not reused', async () => {
    const key = thread();
    await say(key, 'first');
    await stores.admit(key);
    const claimed = await stores.claim(key);
    await stores.step(claimed, { messages: [human('forget this')] });
    await stores.finish(claimed, { status: 'interrupted', rollback: true });
    await say(key, 'second');
    const job = await take(key);
    const { messages } = await jobs.messages(key, { after: 0, to: job.lastEntry });
    expect(messages.map(({ entry }) => entry)).toEqual([1, 2, 4, 5]);
  });

  test('a page of messages ends at a size, and the next begins behind it', async () => {
    const key = thread();
    const huge = 'x'.repeat(3 * 1024 * 1024);
    await say(key, huge);
    await say(key, 'end');
    const job = await take(key);
    const first = await jobs.messages(key, { after: 0, to: job.lastEntry });
    expect(first).toMatchObject({ last: 2 });
    const second = await jobs.messages(key, { after: first.last, to: job.lastEntry });
    expect(second).toMatchObject({ last: 4, messages: [{ entry: 3 }, { entry: 4 }] });
  });

  test('completing writes memory, history and watermark in one step, and the job is no longer due', async () => {
    const key = thread();
    await say(key, 'I live in Oslo');
    const job = await take(key);
    expect(await jobs.complete(job, progress(2, { seen: ['a', 'b'] }), learnt('lives in Oslo'))).toBe(true);
    expect((await memoryOf()).map(({ content }) => content)).toEqual(['lives in Oslo']);
    expect(await memories.history({ userId: 'alice', agent })).toHaveLength(1);
    expect(await memories.agents('alice')).toEqual([agent]);
    expect(await ready()).toEqual([]);
    expect(await memories.status('alice')).toMatchObject({ due: 0, running: 0 });
    await say(key, 'more');
    expect(await take(key)).toMatchObject({ watermark: 2, seen: ['a', 'b'], lastEntry: 4, attempts: 0 });
  });

  test('completing twice, or after a takeover, changes nothing', async () => {
    const key = thread();
    await say(key, 'hello');
    const short = redisMemoryJobs(stores.redis, { debounceMs: 0, leaseMs: 1 });
    const lost = await take(key, 'w1', short);
    const job = await waitFor(() => jobs.take({ ...key, agent }, 'w2'), { what: 'the lease to lapse' });
    if (job === null) throw new Error('not taken');
    expect(job.lease.epoch).toBeGreaterThan(lost.lease.epoch);
    const before = await stores.dump();
    await expect(jobs.complete(lost, progress(2), learnt('one'))).rejects.toThrow(FencedError);
    await expect(jobs.renew(lost.lease)).rejects.toThrow(FencedError);
    await expect(jobs.retry(lost, { delayMs: 1, failed: 'counts' })).rejects.toThrow(FencedError);
    await expect(jobs.deadLetter(lost, progress(2), 'x')).rejects.toThrow(FencedError);
    expect(await stores.dump()).toEqual(before);
    expect(await jobs.complete(job, progress(2), learnt('two'))).toBe(true);
    const after = await stores.dump();
    await expect(jobs.complete(job, progress(2), learnt('two', 1))).rejects.toThrow(FencedError);
    expect(await stores.dump()).toEqual(after);
  });

  test('a job whose memory changed meanwhile writes nothing and may try again', async () => {
    const key = thread();
    await say(key, 'hello');
    const job = await take(key);
    const { revision } = await memories.write(
      { userId: 'alice', agent },
      { document: withFact('by hand'), expectedRevision: 0, cause: { kind: 'fact_added' } },
    );
    const before = await stores.dump();
    expect(await jobs.complete(job, progress(2), learnt('stale'))).toBe(false);
    expect(await stores.dump()).toEqual(before);
    expect(await jobs.complete(job, progress(2), learnt('fresh', revision))).toBe(true);
    expect((await memoryOf()).map(({ content }) => content)).toEqual(['fresh']);
  });

  test('a job stays due when messages were added while a worker had it', async () => {
    const key = thread();
    await say(key, 'one');
    const job = await take(key);
    await say(key, 'two');
    expect(await ready()).toEqual([memoryMember(key, agent)]);
    expect(await jobs.take({ ...key, agent }, 'w2')).toBeNull();
    expect(await ready()).toEqual([]);
    await jobs.complete(job, progress(job.lastEntry));
    expect(await ready()).toEqual([memoryMember(key, agent)]);
    expect(await take(key)).toMatchObject({ watermark: 2, lastEntry: 4 });
  });

  test('a job with more to read is ready again at once, and a watermark never falls', async () => {
    const patient = redisMemoryJobs(stores.redis, { debounceMs: DEBOUNCE_MS, leaseMs: 60_000 });
    const key = thread();
    await say(key, 'one');
    const job = await take(key);
    await patient.complete(job, progress(2, { more: true }));
    const again = await take(key, 'w1', patient);
    await patient.complete(again, progress(1));
    await say(key, 'two');
    expect(await take(key)).toMatchObject({ watermark: 2 });
  });

  test('a renewed lease holds longer, and one that lapsed is free to be taken', async () => {
    const short = redisMemoryJobs(stores.redis, { debounceMs: 0, leaseMs: 10_000 });
    const key = thread();
    await say(key, 'one');
    const job = await take(key, 'w1', short);
    await jobs.renew(job.lease);
    const { running } = stores.redis.keys.memoryJob(key);
    const [, until] = await stores.redis.use((client) => client.zrange(running, 0, -1, 'WITHSCORES'));
    expect(Number(until)).toBeGreaterThan(Date.now() + 30_000);
    expect(await jobs.take({ ...key, agent }, 'w2')).toBeNull();
    expect(await ready()).toEqual([]);
  });

  test('a released job waits for its delay; only its own failures count as attempts', async () => {
    const key = thread();
    await say(key, 'one');
    await jobs.retry(await take(key), { delayMs: 60_000, failed: 'counts' });
    expect(await jobs.take({ ...key, agent }, 'w1')).toBeNull();
    await say(key, 'new words do not cut the wait short');
    expect(await jobs.take({ ...key, agent }, 'w1')).toBeNull();
    expect((await jobs.ready(10)).nextInMs).toBeGreaterThan(30_000);

    const other = thread();
    await say(other, 'two');
    await jobs.retry(await take(other), { delayMs: 0, failed: 'no' });
    expect(await take(other)).toMatchObject({ attempts: 0, failingMs: 0 });

    const third = thread();
    await say(third, 'three');
    await jobs.retry(await take(third), { delayMs: 0, failed: 'away' });
    const away = await take(third);
    expect(away.attempts).toBe(0);
    expect(away.failingMs).toBeGreaterThan(0);
    await jobs.retry(away, { delayMs: 0, failed: 'counts' });
    const failed = await take(third);
    expect(failed.attempts).toBe(1);
    await jobs.complete(failed, progress(2));
    await say(third, 'four');
    expect(await take(third)).toMatchObject({ attempts: 0, failingMs: 0 });
  });

  test('a dead-lettered job is reported, its messages are behind the watermark, and new ones are due', async () => {
    const key = thread();
    await say(key, 'poison');
    const job = await take(key);
    await say(key, 'new');
    await jobs.deadLetter(job, progress(job.lastEntry), 'no JSON');
    const { dead, due } = await memories.status('alice');
    expect(dead).toMatchObject([{ threadId: key.threadId, agent, reason: 'no JSON' }]);
    expect(due).toBe(1);
    expect(await take(key)).toMatchObject({ watermark: 2, lastEntry: 4, attempts: 0 });
  });

  test('deleting a thread removes its job, also while a worker has it; a job without a thread is dropped', async () => {
    const key = thread();
    await say(key, 'one');
    await say(key, 'two', 'poet');
    const job = await take(key);
    await stores.threads.deleteThread(key);
    expect(await ready()).toEqual([]);
    expect(await memories.status('alice')).toMatchObject({ due: 0, running: 0 });
    await expect(jobs.complete(job, progress(2), learnt('one'))).rejects.toThrow(FencedError);
    expect((await stores.keys()).filter((name) => name.includes(key.threadId))).toHaveLength(0);

    const { due } = stores.redis.keys.memoryJob(key);
    await stores.redis.use((client) => client.zadd(due, 1, memoryMember(key, agent)));
    expect(await jobs.take({ ...key, agent }, 'w1')).toBeNull();
    expect(await ready()).toEqual([]);
  });

  test('messages of a copied thread are not read again in the copy', async () => {
    const [key, copy] = [thread(), thread()];
    await say(key, 'one');
    await stores.threads.copyThread(key, copy.threadId);
    await say(copy, 'two');
    expect(await take(copy)).toMatchObject({ watermark: 2, lastEntry: 4 });
  });

  test('an erasure ends running extractions, and excludes earlier messages', async () => {
    const key = thread();
    await say(key, 'my secret');
    const job = await take(key);
    await memories.eraseUser('alice');
    await expect(jobs.complete(job, progress(2), learnt('secret'))).rejects.toThrow(FencedError);
    expect(await memoryOf()).toEqual([]);
    await say(key, 'hello');
    expect(await take(key)).toMatchObject({ watermark: 2, lastEntry: 4 });
    await say(key, 'as another', 'poet');
    expect(await jobs.take({ ...key, agent: 'poet' }, 'w1')).toMatchObject({ watermark: 2 });
  });

  test('erasing one agent ends only its running extractions, and excludes earlier messages to it', async () => {
    const [key, second] = [thread(), thread()];
    await say(key, 'my secret', 'poet');
    await say(second, 'another one', 'poet');
    await say(key, 'to you', agent);
    const poet = await jobs.take({ ...key, agent: 'poet' }, 'w1');
    const other = await take(key);
    if (poet === null) throw new Error('the job is not to be had');
    await memories.eraseAgent({ userId: 'alice', agent: 'poet' });

    await expect(jobs.complete(poet, progress(2), learnt('secret'))).rejects.toThrow(FencedError);
    await jobs.complete(other, progress(4), learnt('kept'));
    expect(await memories.agents('alice')).toEqual([agent]);
    expect(await ready()).toEqual([]);
    await say(key, 'hello', 'poet');
    expect(await jobs.take({ ...key, agent: 'poet' }, 'w1')).toMatchObject({ watermark: 4, lastEntry: 6 });
    expect(await jobs.take({ ...second, agent: 'poet' }, 'w1')).toBeNull();
  });

  test('a key of a foreign type is an error, and nothing is written', async () => {
    const key = thread();
    await say(key, 'one');
    const job = await take(key);
    const { running } = stores.redis.keys.memoryJob(key);
    await stores.redis.use(async (client) => {
      await client.del(running);
      await client.set(running, 'x');
    });
    const before = await stores.dump();
    await expect(jobs.complete(job, progress(2), learnt('x'))).rejects.toThrow('foreign type');
    await expect(memories.eraseUser('alice')).rejects.toThrow('foreign type');
    await expect(memories.eraseAgent({ userId: 'alice', agent })).rejects.toThrow('foreign type');
    await expect(stores.threads.deleteThread(key)).rejects.toThrow('foreign type');
    expect(await stores.dump()).toEqual(before);
  });
});

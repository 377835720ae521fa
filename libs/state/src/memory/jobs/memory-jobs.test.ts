import { FencedError, textOf } from '@caribou/contracts';
import { human, thread, waitFor } from '@caribou/testing';
import { memoryMember } from '../../redis/keys.js';
import { redisMemoryJobs } from './memory-jobs.js';
import {
  agent,
  learnt,
  type MemoryJobsFixture,
  progress,
  useMemoryJobs,
  withFact,
} from '../../testing/memory-jobs-fixture.js';

const DEBOUNCE_MS = 60_000;

let memory: MemoryJobsFixture;

useMemoryJobs((fixture) => {
  memory = fixture;
});

describe(redisMemoryJobs, () => {
  test('a thread is ready once no message was added for the debounce time, whatever other threads do', async () => {
    const patient = redisMemoryJobs(memory.stores.redis, { debounceMs: DEBOUNCE_MS, leaseMs: 60_000 });
    const [quiet, loud] = [thread(), thread()];
    await memory.say(quiet, 'one');
    await memory.say(loud, 'two');
    const { due } = memory.stores.redis.keys.memoryJob(quiet);
    await memory.stores.redis.use((client) => client.zincrby(due, -DEBOUNCE_MS, memoryMember(quiet, agent)));
    const { jobs: found, nextInMs } = await patient.ready(10);
    expect(found).toEqual([{ ...quiet, agent }]);
    expect(nextInMs).toBeGreaterThan(DEBOUNCE_MS - 20_000);
    expect(nextInMs).toBeLessThanOrEqual(DEBOUNCE_MS);
    expect(await patient.take({ ...loud, agent }, 'w1')).toBeNull();
    await memory.say(quiet, 'three');
    expect((await patient.ready(10)).jobs).toEqual([]);
    expect(await patient.take({ ...quiet, agent }, 'w1')).toBeNull();
  });

  test('without jobs none is ready, and no next time is returned', async () => {
    expect(await memory.jobs.ready(10)).toEqual({ jobs: [], nextInMs: null, due: 0 });
    expect(await memory.jobs.take({ ...thread(), agent }, 'w1')).toBeNull();
  });

  test('jobs of the users with the fewest under way come first, however many others wait', async () => {
    const [busy, ...more] = Array.from({ length: 5 }, () => thread('alice'));
    const others = [thread('bob'), thread('bob'), thread('carol')];
    for (const key of [busy ?? thread(), ...more, ...others]) await memory.say(key, 'hi');

    const before = (await memory.jobs.ready(5)).jobs.map(({ userId }) => userId);
    await memory.take(busy ?? thread());
    const after = (await memory.jobs.ready(5)).jobs.map(({ userId, threadId }) => ({ userId, threadId }));

    expect(before.join(' ')).toBe('alice bob carol alice bob');
    // Of bob, who has none yet, two come before the second one of alice.
    expect(after).toEqual([others[0], others[2], others[1], more[0], more[1]]);
  });

  test('users come in turn where more of them wait than there are slots: ten do not stop another one', async () => {
    const ten = Array.from({ length: 10 }, (_, index) => `busy${index}`);
    for (const user of [...ten, ...ten, ...ten]) await memory.say(thread(user), 'hi');
    const taken: string[] = [];
    const takeNext = async (): Promise<void> => {
      const [next] = (await memory.jobs.ready(1)).jobs;
      const job = next === undefined ? null : await memory.jobs.take(next, 'w1');
      if (job === null) throw new Error('no job is ready');
      taken.push(job.lease.userId);
      expect(await memory.jobs.complete(job, progress(2))).toBe(true);
    };
    for (let count = 0; count < 12; count += 1) await takeNext();
    for (let count = 0; count < 2; count += 1) await memory.say(thread('quiet'), 'hi');
    for (let count = 0; count < 12; count += 1) await takeNext();

    expect(taken).toEqual([...ten, ...ten.slice(0, 2), 'quiet', ...ten.slice(2), ...ten.slice(0, 2), 'quiet']);
  });

  test('of several workers one takes a job, and reads the messages by number', async () => {
    const key = thread();
    await memory.say(key, 'I live in Oslo');
    const taken = await Promise.all(['w1', 'w2', 'w3'].map((owner) => memory.jobs.take({ ...key, agent }, owner)));
    const [job, ...others] = taken.filter((one) => one !== null);
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      said: expect.any(Number),
      watermark: 0,
      lastEntry: 2,
      attempts: 0,
      failingMs: 0,
      seen: [],
    });
    expect(await memory.ready()).toEqual([]);
    expect(await memory.memories.status('alice')).toMatchObject({ due: 1, running: 1 });
    const { messages, last } = await memory.jobs.messages(key, { after: 0, to: job?.lastEntry ?? 0 });
    expect(messages.map(({ entry, message }) => [entry, textOf(message.content)])).toEqual([
      [1, 'I live in Oslo'],
      [2, 'you said: I live in Oslo'],
    ]);
    expect(last).toBe(2);
    expect((await memory.jobs.messages(key, { after: 1, to: 2 })).messages.map(({ entry }) => entry)).toEqual([2]);
    expect((await memory.jobs.messages({ ...key, userId: 'bob' }, { after: 0, to: 2 })).messages).toEqual([]);
  });

  test('entries of a run that was rolled back are skipped, and their numbers are not reused', async () => {
    const key = thread();
    await memory.say(key, 'first');
    await memory.stores.admit(key);
    const claimed = await memory.stores.claim(key);
    await memory.stores.step(claimed, { messages: [human('forget this')] });
    await memory.stores.finish(claimed, { status: 'interrupted', rollback: true });
    await memory.say(key, 'second');
    const job = await memory.take(key);
    const { messages } = await memory.jobs.messages(key, { after: 0, to: job.lastEntry });
    expect(messages.map(({ entry }) => entry)).toEqual([1, 2, 4, 5]);
  });

  test('a page of messages ends at a size, and the next begins behind it', async () => {
    const key = thread();
    const huge = 'x'.repeat(3 * 1024 * 1024);
    await memory.say(key, huge);
    await memory.say(key, 'end');
    const job = await memory.take(key);
    const first = await memory.jobs.messages(key, { after: 0, to: job.lastEntry });
    expect(first).toMatchObject({ last: 2 });
    const second = await memory.jobs.messages(key, { after: first.last, to: job.lastEntry });
    expect(second).toMatchObject({ last: 4, messages: [{ entry: 3 }, { entry: 4 }] });
  });

  test('completing writes memory, history and watermark in one step, and the job is no longer due', async () => {
    const key = thread();
    await memory.say(key, 'I live in Oslo');
    const job = await memory.take(key);
    expect(await memory.jobs.complete(job, progress(2, { seen: ['a', 'b'] }), learnt('lives in Oslo'))).toBe(true);
    expect((await memory.factsOf()).map(({ content }) => content)).toEqual(['lives in Oslo']);
    expect(await memory.memories.history({ userId: 'alice', agent })).toHaveLength(1);
    expect(await memory.memories.agents('alice')).toEqual([agent]);
    expect(await memory.ready()).toEqual([]);
    expect(await memory.memories.status('alice')).toMatchObject({ due: 0, running: 0 });
    await memory.say(key, 'more');
    expect(await memory.take(key)).toMatchObject({ watermark: 2, seen: ['a', 'b'], lastEntry: 4, attempts: 0 });
  });

  test('completing twice, or after a takeover, changes nothing', async () => {
    const key = thread();
    await memory.say(key, 'hello');
    const short = redisMemoryJobs(memory.stores.redis, { debounceMs: 0, leaseMs: 1 });
    const lost = await memory.take(key, 'w1', short);
    const job = await waitFor(() => memory.jobs.take({ ...key, agent }, 'w2'), { what: 'the lease to lapse' });
    if (job === null) throw new Error('not taken');
    expect(job.lease.epoch).toBeGreaterThan(lost.lease.epoch);
    const before = await memory.stores.dump();
    await expect(memory.jobs.complete(lost, progress(2), learnt('one'))).rejects.toThrow(FencedError);
    await expect(memory.jobs.renew(lost.lease)).rejects.toThrow(FencedError);
    await expect(memory.jobs.retry(lost, { delayMs: 1, failed: 'counts' })).rejects.toThrow(FencedError);
    await expect(memory.jobs.deadLetter(lost, progress(2), 'x')).rejects.toThrow(FencedError);
    expect(await memory.stores.dump()).toEqual(before);
    expect(await memory.jobs.complete(job, progress(2), learnt('two'))).toBe(true);
    const after = await memory.stores.dump();
    await expect(memory.jobs.complete(job, progress(2), learnt('two', 1))).rejects.toThrow(FencedError);
    expect(await memory.stores.dump()).toEqual(after);
  });

  test('a job whose memory changed meanwhile writes nothing and may try again', async () => {
    const key = thread();
    await memory.say(key, 'hello');
    const job = await memory.take(key);
    const { revision } = await memory.memories.write(
      { userId: 'alice', agent },
      { document: withFact('by hand'), expectedRevision: 0, cause: { kind: 'fact_added' } },
    );
    const before = await memory.stores.dump();
    expect(await memory.jobs.complete(job, progress(2), learnt('stale'))).toBe(false);
    expect(await memory.stores.dump()).toEqual(before);
    expect(await memory.jobs.complete(job, progress(2), learnt('fresh', revision))).toBe(true);
    expect((await memory.factsOf()).map(({ content }) => content)).toEqual(['fresh']);
  });

  test('a job stays due when messages were added while a worker had it', async () => {
    const key = thread();
    await memory.say(key, 'one');
    const job = await memory.take(key);
    await memory.say(key, 'two');
    expect(await memory.ready()).toEqual([memoryMember(key, agent)]);
    expect(await memory.jobs.take({ ...key, agent }, 'w2')).toBeNull();
    expect(await memory.ready()).toEqual([]);
    await memory.jobs.complete(job, progress(job.lastEntry));
    expect(await memory.ready()).toEqual([memoryMember(key, agent)]);
    expect(await memory.take(key)).toMatchObject({ watermark: 2, lastEntry: 4 });
  });

  test('a job with more to read is ready again at once, and a watermark never falls', async () => {
    const patient = redisMemoryJobs(memory.stores.redis, { debounceMs: DEBOUNCE_MS, leaseMs: 60_000 });
    const key = thread();
    await memory.say(key, 'one');
    const job = await memory.take(key);
    await patient.complete(job, progress(2, { more: true }));
    const again = await memory.take(key, 'w1', patient);
    await patient.complete(again, progress(1));
    await memory.say(key, 'two');
    expect(await memory.take(key)).toMatchObject({ watermark: 2 });
  });

  test('a renewed lease holds longer, and one that lapsed is free to be taken', async () => {
    const short = redisMemoryJobs(memory.stores.redis, { debounceMs: 0, leaseMs: 10_000 });
    const key = thread();
    await memory.say(key, 'one');
    const job = await memory.take(key, 'w1', short);
    await memory.jobs.renew(job.lease);
    const { running } = memory.stores.redis.keys.memoryJob(key);
    const [, until] = await memory.stores.redis.use((client) => client.zrange(running, 0, -1, 'WITHSCORES'));
    expect(Number(until)).toBeGreaterThan(Date.now() + 30_000);
    expect(await memory.jobs.take({ ...key, agent }, 'w2')).toBeNull();
    expect(await memory.ready()).toEqual([]);
  });

  test('a released job waits for its delay; only its own failures count as attempts', async () => {
    const key = thread();
    await memory.say(key, 'one');
    await memory.jobs.retry(await memory.take(key), { delayMs: 60_000, failed: 'counts' });
    expect(await memory.jobs.take({ ...key, agent }, 'w1')).toBeNull();
    await memory.say(key, 'new words do not cut the wait short');
    expect(await memory.jobs.take({ ...key, agent }, 'w1')).toBeNull();
    expect((await memory.jobs.ready(10)).nextInMs).toBeGreaterThan(30_000);

    const other = thread();
    await memory.say(other, 'two');
    await memory.jobs.retry(await memory.take(other), { delayMs: 0, failed: 'no' });
    expect(await memory.take(other)).toMatchObject({ attempts: 0, failingMs: 0 });

    const third = thread();
    await memory.say(third, 'three');
    await memory.jobs.retry(await memory.take(third), { delayMs: 0, failed: 'away' });
    const away = await memory.take(third);
    expect(away.attempts).toBe(0);
    expect(away.failingMs).toBeGreaterThan(0);
    await memory.jobs.retry(away, { delayMs: 0, failed: 'counts' });
    const failed = await memory.take(third);
    expect(failed.attempts).toBe(1);
    await memory.jobs.complete(failed, progress(2));
    await memory.say(third, 'four');
    expect(await memory.take(third)).toMatchObject({ attempts: 0, failingMs: 0 });
  });

  test('a dead-lettered job is reported, its messages are behind the watermark, and new ones are due', async () => {
    const key = thread();
    await memory.say(key, 'poison');
    const job = await memory.take(key);
    await memory.say(key, 'new');
    await memory.jobs.deadLetter(job, progress(job.lastEntry), 'no JSON');
    const { dead, due } = await memory.memories.status('alice');
    expect(dead).toMatchObject([{ threadId: key.threadId, agent, reason: 'no JSON' }]);
    expect(due).toBe(1);
    expect(await memory.take(key)).toMatchObject({ watermark: 2, lastEntry: 4, attempts: 0 });
  });
});

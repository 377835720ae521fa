import { FencedError } from '@caribou/contracts';
import { thread } from '@caribou/testing';
import { memoryMember } from '../../redis/keys.js';
import { agent, learnt, type MemoryJobsFixture, progress, useMemoryJobs } from '../../testing/memory-jobs-fixture.js';

let memory: MemoryJobsFixture;

useMemoryJobs((fixture) => {
  memory = fixture;
});

describe('memory jobs of deleted threads and erased memories', () => {
  test('deleting a thread removes its job, also while a worker has it; a job without a thread is dropped', async () => {
    const key = thread();
    await memory.say(key, 'one');
    await memory.say(key, 'two', 'poet');
    const job = await memory.take(key);
    await memory.stores.threads.deleteThread(key);
    expect(await memory.ready()).toEqual([]);
    expect(await memory.memories.status('alice')).toMatchObject({ due: 0, running: 0 });
    await expect(memory.jobs.complete(job, progress(2), learnt('one'))).rejects.toThrow(FencedError);
    expect((await memory.stores.keys()).filter((name) => name.includes(key.threadId))).toHaveLength(0);

    const { due } = memory.stores.redis.keys.memoryJob(key);
    await memory.stores.redis.use((client) => client.zadd(due, 1, memoryMember(key, agent)));
    expect(await memory.jobs.take({ ...key, agent }, 'w1')).toBeNull();
    expect(await memory.ready()).toEqual([]);
  });

  test('messages of a copied thread are not read again in the copy', async () => {
    const [key, copy] = [thread(), thread()];
    await memory.say(key, 'one');
    await memory.stores.threads.copyThread(key, copy.threadId);
    await memory.say(copy, 'two');
    expect(await memory.take(copy)).toMatchObject({ watermark: 2, lastEntry: 4 });
  });

  test('an erasure ends running extractions, and excludes earlier messages', async () => {
    const key = thread();
    await memory.say(key, 'my secret');
    const job = await memory.take(key);
    await memory.memories.eraseUser('alice');
    await expect(memory.jobs.complete(job, progress(2), learnt('secret'))).rejects.toThrow(FencedError);
    expect(await memory.factsOf()).toEqual([]);
    await memory.say(key, 'hello');
    expect(await memory.take(key)).toMatchObject({ watermark: 2, lastEntry: 4 });
    await memory.say(key, 'as another', 'poet');
    expect(await memory.jobs.take({ ...key, agent: 'poet' }, 'w1')).toMatchObject({ watermark: 2 });
  });

  test('erasing one agent ends only its running extractions, and excludes earlier messages to it', async () => {
    const [key, second] = [thread(), thread()];
    await memory.say(key, 'my secret', 'poet');
    await memory.say(second, 'another one', 'poet');
    await memory.say(key, 'to you', agent);
    const poet = await memory.jobs.take({ ...key, agent: 'poet' }, 'w1');
    const other = await memory.take(key);
    if (poet === null) throw new Error('the job is not to be had');
    await memory.memories.eraseAgent({ userId: 'alice', agent: 'poet' });

    await expect(memory.jobs.complete(poet, progress(2), learnt('secret'))).rejects.toThrow(FencedError);
    await memory.jobs.complete(other, progress(4), learnt('kept'));
    expect(await memory.memories.agents('alice')).toEqual([agent]);
    expect(await memory.ready()).toEqual([]);
    await memory.say(key, 'hello', 'poet');
    expect(await memory.jobs.take({ ...key, agent: 'poet' }, 'w1')).toMatchObject({ watermark: 4, lastEntry: 6 });
    expect(await memory.jobs.take({ ...second, agent: 'poet' }, 'w1')).toBeNull();
  });

  test('a key of a foreign type is an error, and nothing is written', async () => {
    const key = thread();
    await memory.say(key, 'one');
    const job = await memory.take(key);
    const { running } = memory.stores.redis.keys.memoryJob(key);
    await memory.stores.redis.use(async (client) => {
      await client.del(running);
      await client.set(running, 'x');
    });
    const before = await memory.stores.dump();
    await expect(memory.jobs.complete(job, progress(2), learnt('x'))).rejects.toThrow('foreign type');
    await expect(memory.memories.eraseUser('alice')).rejects.toThrow('foreign type');
    await expect(memory.memories.eraseAgent({ userId: 'alice', agent })).rejects.toThrow('foreign type');
    await expect(memory.stores.threads.deleteThread(key)).rejects.toThrow('foreign type');
    expect(await memory.stores.dump()).toEqual(before);
  });
});

import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000 },
);

const due = (): Promise<string[]> =>
  store.redis.use((client) => client.zrange(store.redis.keys.memoryQueue, 0, -1, 'WITHSCORES'));

describe('the queue of memory extractions', () => {
  test('gets an entry at the end of a run, one per thread and agent, with the time of the last message', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('hi'), ai('hello')] });
    expect(await due()).toEqual([]);

    await store.admit(key);
    await store.finish(await store.claim(key), { remember: { agent: 'lead_agent' } });
    const [member, first] = await due();
    expect(member).toBe(`alice/${key.threadId}/lead_agent`);

    await store.admit(key);
    await store.finish(await store.claim(key), { remember: { agent: 'lead_agent' } });
    await store.admit(key);
    await store.finish(await store.claim(key), { remember: { agent: 'poet' } });
    const all = await due();
    expect(all.filter((_, index) => index % 2 === 0)).toEqual([member, `alice/${key.threadId}/poet`]);
    expect(Number(all[1])).toBeGreaterThanOrEqual(Number(first));
  });

  test('gets no entry for a run that is rolled back', async () => {
    const key = thread('bob');
    await store.admit(key);
    await store.finish(await store.claim(key), {
      status: 'interrupted',
      rollback: true,
      remember: { agent: 'lead_agent' },
    });
    expect((await due()).filter((member) => member.startsWith('bob/'))).toEqual([]);
  });

  test('a key of a foreign type leaves the run as it was', async () => {
    const key = thread('carol');
    const { jobs, userDue } = store.redis.keys.memoryJob(key);
    await store.admit(key);
    const claimed = await store.claim(key);
    for (const target of [jobs, userDue]) {
      await store.redis.use((client) => client.rpush(target, 'x'));
      const before = await store.dump();
      const finished = store.finish(claimed, { remember: { agent: 'lead_agent' } });
      await expect(finished).rejects.toMatchObject({ name: 'BugError', details: { key: target } });
      const { [jobs]: _was, ...unchanged } = before;
      expect(await store.dump()).toMatchObject(unchanged);
      await store.redis.use((client) => client.del(target));
    }
    await store.finish(claimed, { remember: { agent: 'lead_agent' } });
    expect((await due()).filter((member) => member.startsWith('carol/'))).toHaveLength(1);
  });
});

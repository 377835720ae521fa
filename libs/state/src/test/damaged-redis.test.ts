import { BugError, FencedError, newId } from '@caribou/contracts';
import { ai, human, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000, maxAttempts: 2 },
);

const custom = (data: number) => ({ kind: 'custom' as const, data });

describe('a damaged or emptied Redis', () => {
  test('after FLUSHALL in mid-run every write of the owner is fenced and writes nothing', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    const committed = await store.step(claimed, { messages: [human('a')] });
    await store.redis.use((client) => client.flushall());

    const zombie = { lease: claimed.lease, head: committed.head };
    await expect(store.runs.append(claimed.lease, [custom(1)])).rejects.toThrow(FencedError);
    await expect(store.step(zombie, { messages: [ai('b')] })).rejects.toThrow(FencedError);
    await expect(store.finish(zombie)).rejects.toThrow(FencedError);
    await expect(store.runs.renew(claimed.lease)).rejects.toThrow(FencedError);
    expect(await store.keys()).toEqual([]);
  });

  test('the epoch grows over an emptied Redis, as it begins with the time in microseconds', async () => {
    const key = thread();
    const now = () =>
      store.redis.use(async (client) => {
        const [seconds, micros] = await client.time();
        return Number(seconds) * 1_000_000 + Number(micros);
      });
    let before = await now();
    for (let round = 0; round < 20; round += 1) {
      await store.admit(key);
      const { epoch } = (await store.claim(key)).lease;
      expect(epoch).toBeGreaterThan(before);
      // Two claims are at different microseconds, but not always at different milliseconds.
      before = await now();
      expect(epoch).toBeLessThan(before);
      await store.redis.use((client) => client.flushall());
    }
  });

  test('an append to a log of a foreign type writes nothing', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.redis.use((client) => client.set(store.redis.keys.runEvents(key.userId, claimed.run.run_id), 'x'));
    const before = await store.dump();

    await expect(store.runs.append(claimed.lease, [custom(1)], { openMessageId: 'm' })).rejects.toThrow(BugError);

    expect(await store.dump()).toEqual(before);
  });

  test('a key of a foreign type stops every command before its first write', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('a')] });
    const queued = await store.admit(key);
    const claimed = await store.claim(key);
    await store.admit(key);
    const { lease: _lease, sandbox: _sandbox, executions: _executions, ...keys } = store.redis.keys.thread(key);
    const targets = [...Object.values<string>(keys), store.redis.keys.runEvents(key.userId, queued.run_id)];

    for (const target of targets) {
      store.redis.checkedThreads.clear();
      const moved = `${store.prefix}moved`;
      await store.redis.use(async (client) => {
        if ((await client.exists(target)) === 1) await client.rename(target, moved);
        await (target.endsWith('inbox') ? client.set(target, 'x') : client.rpush(target, 'x'));
      });
      const before = await store.dump();
      const writes = [
        store.step(claimed, { messages: [human('b')], title: 't' }, { events: [custom(1)] }),
        store.finish(claimed),
        store.finish(claimed, { rollback: true }),
        store.admit(key, { multitaskStrategy: 'interrupt' }),
        store.threads.requestCancel(key, queued.run_id, 'interrupt'),
        store.threads.deleteThread(key),
      ];
      const outcomes = await Promise.allSettled(writes);
      expect(outcomes.map((outcome) => outcome.status)).toEqual(writes.map(() => 'rejected'));
      expect(await store.dump()).toEqual(before);
      await store.redis.use(async (client) => {
        await client.del(target);
        if ((await client.exists(moved)) === 1) await client.rename(moved, target);
      });
    }
    const committed = await store.step(claimed, { messages: [human('b')] });
    expect(textsOf(committed.head.state.messages)).toEqual(['a', 'b']);
  });

  test('types that were checked a moment ago are checked again after a script met a foreign one', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    const { order } = store.redis.keys.thread(key);
    await store.redis.use((client) => client.set(order, 'x'));

    await expect(store.step(claimed, { messages: [human('b')] })).rejects.toThrow('WRONGTYPE');
    const before = await store.dump();
    await expect(store.finish(claimed)).rejects.toMatchObject({ name: 'BugError', details: { key: order } });
    expect(await store.dump()).toEqual(before);
  });

  test('a claim right after an admission leaves the check to that, and the claim after a failed one checks again', async () => {
    const key = thread();
    await store.admit(key);
    const { runs } = store.redis.keys.thread(key);
    await store.redis.use(async (client) => {
      await client.rename(runs, `${store.prefix}moved`);
      await client.set(runs, 'x');
    });
    store.redis.checkedThreads.clear();
    await expect(store.runs.claim(key, newId())).rejects.toMatchObject({ name: 'BugError', details: { key: runs } });
    expect(await store.runs.claim(key, newId(), { isChecked: true })).toMatchObject({ kind: 'run' });

    const { feed } = store.redis.keys.thread(key);
    const other = thread();
    await store.admit(other);
    store.redis.checkedThreads.clear();
    await store.redis.use((client) => client.set(feed.replace(key.threadId, other.threadId), 'x'));
    await expect(store.runs.claim(other, newId(), { isChecked: true })).rejects.toThrow('WRONGTYPE');
    await expect(store.runs.claim(other, newId())).rejects.toThrow('foreign type');
  });

  test('a thread that was just created is not checked again by the admission of its first run', async () => {
    const key = thread();
    await store.threads.createThread(key, { metadata: {} });
    const checks = async () => {
      const stats = await store.redis.use((client) => client.info('commandstats'));
      return Number(/cmdstat_type:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    const before = await checks();
    await store.admit(key);
    expect(await checks()).toBe(before);
  });
});

import { BugError, FencedError, newId } from '@caribou/contracts';
import { ai, human, openStores, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000, maxAttempts: 2 },
);

const custom = (data: number) => ({ kind: 'custom' as const, data });
const lapse = (lease: string): Promise<number> => store.redis.use((client) => client.del(lease));

describe('takeover', () => {
  test('the next owner continues from the last commit, and the former one writes nothing', async () => {
    const key = thread();
    await store.admit(key);
    const former = await store.claim(key);
    const committed = await store.step(
      former,
      { messages: [human('a')] },
      { inputCommitted: true, next: ['model_request'] },
    );
    await lapse(store.redis.keys.thread(key).lease);

    const next = await store.claim(key);

    expect(next.run).toMatchObject({ attempt: 2, input_committed: true, status: 'running' });
    expect(next.head).toMatchObject({ checkpointId: committed.head.checkpointId, next: ['model_request'] });
    expect(next.lease.epoch).toBeGreaterThan(former.lease.epoch);
    const before = await store.dump();
    await expect(
      store.step({ lease: former.lease, head: committed.head }, { messages: [ai('zombie')] }),
    ).rejects.toThrow(FencedError);
    await expect(store.runs.renew(former.lease)).rejects.toThrow(FencedError);
    expect(await store.dump()).toEqual(before);
  });

  test('an open message becomes a dropped one; a commit closes it', async () => {
    const key = thread();
    await store.admit(key);
    const lease = store.redis.keys.thread(key).lease;
    const first = await store.claim(key);
    await store.runs.append(first.lease, [custom(1)], { openMessageId: 'm"1' });
    await lapse(lease);
    const second = await store.claim(key);
    expect(second.run.dropped_message_ids).toEqual(['m"1']);

    await store.runs.append(second.lease, [custom(2)], { openMessageId: 'm2' });
    await store.runs.append(second.lease, [custom(3)], { openMessageId: null, dropped: ['m2'] });
    await store.runs.append(second.lease, [custom(4)], { openMessageId: 'm3' });
    await store.step(second, { messages: [ai('x', 'm3')] });
    await lapse(lease);

    expect((await store.claim(key)).run).toMatchObject({ attempt: 3, dropped_message_ids: ['m"1', 'm2'] });
  });

  test('attempts without a commit between them are counted, a commit resets, handing over does not count', async () => {
    const key = thread();
    await store.admit(key);
    const lease = store.redis.keys.thread(key).lease;
    const claimAfterLapse = async () => {
      await lapse(lease);
      return store.claim(key);
    };

    expect((await store.claim(key)).exhausted).toBe(false);
    const second = await claimAfterLapse();
    expect(second.exhausted).toBe(false);
    await store.runs.handOver(second.lease);
    const third = await store.claim(key);
    expect(third).toMatchObject({ exhausted: false, run: { attempt: 3 } });
    const fourth = await claimAfterLapse();
    expect(fourth).toMatchObject({ exhausted: true, run: { attempt: 4 } });
    await store.step(fourth, { messages: [human('a')] });
    expect((await claimAfterLapse()).exhausted).toBe(false);
  });

  test('a released run is current for the next owner at once', async () => {
    const key = thread();
    const run = await store.admit(key);
    const claimed = await store.claim(key);
    expect(await store.runs.listUnowned(10)).toEqual([]);

    await store.runs.handOver(claimed.lease);

    expect(await store.runs.listUnowned(10)).toEqual([{ ...key, interrupted: true, rank: 0 }]);
    expect((await store.claim(key)).run.run_id).toBe(run.run_id);
  });

  test('threads without an owner are listed from any rank on, including a damaged one', async () => {
    const own = openStores(store.url, {});
    // Threads of the same millisecond are listed by their names.
    const named = (name: string) => ({ ...thread(), threadId: `${name}-${newId()}` });
    const keys = [named('a'), named('b'), named('c')] as const;
    for (const key of keys) await own.admit(key);
    await own.claim(keys[1]);
    await own.redis.use((client) => client.set(own.redis.keys.thread(keys[2]).record, 'damaged'));

    const [first, third] = [
      { ...keys[0], interrupted: false, rank: 0 },
      { ...keys[2], interrupted: false, rank: 2 },
    ];
    expect(await own.runs.listUnowned(10)).toEqual([first, third]);
    expect(await own.runs.listUnowned(1)).toEqual([first]);
    expect(await own.runs.listUnowned(10, 1)).toEqual([third]);
    await own.close();
  });

  test('a lease runs out by the clock of Redis', async () => {
    const short = openStores(store.url, { leaseMs: 20 });
    const key = thread();
    await short.admit(key);
    const first = await short.claim(key);

    let second = await short.runs.claim(key, newId());
    while (second.kind === 'busy') second = await short.runs.claim(key, newId());

    expect(second).toMatchObject({ kind: 'run', run: { attempt: 2 } });
    await expect(short.runs.renew(first.lease)).rejects.toThrow(FencedError);
    await short.close();
  });
});

describe('duplicate jobs', () => {
  test('of many claims at once one gets the run and the others find the thread busy', async () => {
    const key = thread();
    await store.admit(key);

    const claims = await Promise.all(Array.from({ length: 5 }, () => store.runs.claim(key, newId())));

    expect(claims.map((claim) => claim.kind).sort()).toEqual(['busy', 'busy', 'busy', 'busy', 'run']);
  });

  test('a claim on a thread without work, or on none, finds nothing and writes nothing', async () => {
    const key = thread();

    expect(await store.runs.claim(key, newId())).toEqual({ kind: 'idle' });
    expect(await store.keys()).toEqual([]);
  });
});

describe('stale heads', () => {
  test('a commit on another head than the present one is refused, and nothing is written', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('a')] });
    const before = await store.dump();

    await expect(store.step(claimed, { messages: [human('again')] })).rejects.toThrow(FencedError);
    await expect(
      store.finish(claimed, {
        commit: { head: claimed.head, state: { messages: [] }, next: [], source: 'loop', step: 1, events: [custom(1)] },
      }),
    ).rejects.toThrow(FencedError);

    expect(await store.dump()).toEqual(before);
  });

  test('a commit that adds nothing to the log moves the head all the same', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, {});

    await expect(store.step(claimed, { messages: [human('a')] })).rejects.toThrow(FencedError);
  });

  test('of two commits of one owner at once one wins', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);

    const outcomes = await Promise.allSettled(
      [1, 2].map((n) => store.step(claimed, { messages: [human(`${n}`)] }, { events: [custom(n)] })),
    );

    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await store.threads.head(key))?.state.messages).toHaveLength(1);
    expect((await store.events.read(key.userId, claimed.run.run_id, { after: 0, limit: 10 })).lastSeq).toBe(2);
  });
});

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

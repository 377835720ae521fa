import { FencedError, newId } from '@caribou/contracts';
import { ai, human, openStores, type StoreFixture, thread, useStore } from '@caribou/testing';

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

  test('a message that a commit opens is dropped by the next attempt, unless another commit came', async () => {
    const key = thread();
    await store.admit(key);
    const lease = store.redis.keys.thread(key).lease;
    const first = await store.claim(key);
    const { head } = await store.step(first, { messages: [ai('x', 'm1')] }, { opens: 'm2' });
    await lapse(lease);
    const second = await store.claim(key);
    expect(second.run.dropped_message_ids).toEqual(['m2']);

    const next = await store.step({ ...second, head }, { messages: [ai('y', 'm3')] }, { opens: 'm4' });
    await store.step({ ...second, head: next.head }, { messages: [ai('z', 'm4')] });
    await lapse(lease);

    expect((await store.claim(key)).run.dropped_message_ids).toEqual(['m2']);
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

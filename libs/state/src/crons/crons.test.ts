import { FencedError, newId, QuotaError } from '@caribou/contracts';
import { type CronStart, type CronStore, readCronQueue, redisCrons, type StoredCron } from '@caribou/state';
import { admission, type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';

let store: StoreFixture;
let crons: CronStore;

useStore((opened) => {
  store = opened;
  crons = redisCrons(opened.redis, { maxPerUser: 3 });
});

async function create(dueInMs: number | null, userId = 'alice'): Promise<StoredCron> {
  const dueMs = dueInMs === null ? null : (await crons.now()) + dueInMs;
  return crons.create({ userId, cronId: newId(), spec: '{"schedule":"* * * * *"}', dueMs, maxRuns: null });
}

const startOf = (cron: StoredCron, over: Partial<CronStart> = {}): CronStart => ({
  cronId: cron.cronId,
  version: cron.version,
  dueMs: cron.dueMs,
  nextMs: (cron.dueMs ?? 0) + 3_600_000,
  missed: 0,
  maxRuns: null,
  entry: { id: newId(), trigger: 'scheduled', scheduledFor: 'then', createdAt: 'now', runId: 'r' },
  ...over,
});

/** Admits a run for a due time, on a new thread, as one of several processes would. */
const fire = (cron: StoredCron, over: Partial<CronStart> = {}) =>
  store.threads.admit({ ...admission(thread(cron.userId)), cron: startOf(cron, over) });

const takeAll = () => crons.take({ limit: 100, perUser: 10, leaseMs: 60_000 });
const countRuns = async (userId = 'alice'): Promise<number> =>
  (await store.redis.use((client) => client.smembers(store.redis.keys.thread(thread(userId)).inFlight))).length;

describe('due times', () => {
  test('processes that decide at once about one due time start one run, and the cron moves on in the same step', async () => {
    const cron = await create(-10);
    const outcomes = await Promise.allSettled([fire(cron), fire(cron), fire(cron)]);

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(FencedError);
    expect(await countRuns()).toBe(1);
    const after = await crons.get('alice', cron.cronId);
    expect(after).toMatchObject({ dueMs: (cron.dueMs ?? 0) + 3_600_000, started: 1, lastError: null });
    expect(await crons.runs('alice', cron.cronId, { limit: 10, offset: 0 })).toHaveLength(1);
  });

  test('a process that dies between taking a cron and its decision leaves it to another one', async () => {
    const cron = await create(-10);
    const brief = { limit: 10, perUser: 10, leaseMs: 50 };
    expect((await crons.take(brief)).crons).toMatchObject([{ cronId: cron.cronId, dueMs: cron.dueMs }]);
    expect((await crons.take(brief)).crons).toEqual([]);

    await waitFor(async () => (await crons.take(brief)).crons.length === 1, { what: 'the end of the lease' });
    await fire(cron);
    expect(await countRuns()).toBe(1);
  });

  test('a process that was paused past its lease, and one whose reply was lost, start nothing a second time', async () => {
    const cron = await create(-10);
    await fire(cron);
    await store.redis.use((client) => client.flushall());

    await expect(fire(cron)).rejects.toThrow(FencedError);
    expect(await countRuns()).toBe(0);
  });

  test('a change of the schedule cancels a decision that was made on the old one', async () => {
    const cron = await create(-10);
    await crons.replace({ ...cron, maxRuns: null, spec: '{}' }, cron.version);

    await expect(fire(cron)).rejects.toThrow(FencedError);
    expect(await crons.pass('alice', startOf(cron), { error: 'late' })).toBe(false);
  });

  test('a refused admission leaves the due time to be tried again or passed over', async () => {
    const cron = await create(-10);
    const start = startOf(cron);
    const blocked = thread();
    await store.admit(blocked);
    await expect(
      store.threads.admit({ ...admission(blocked), multitaskStrategy: 'reject', cron: start }),
    ).rejects.toThrow('already running');
    expect(await crons.get('alice', cron.cronId)).toMatchObject({ dueMs: cron.dueMs, started: 0 });

    expect(await crons.pass('alice', start, { error: 'full', retryMs: 60_000 })).toBe(true);
    expect(await crons.get('alice', cron.cronId)).toMatchObject({ dueMs: cron.dueMs, retries: 1, lastError: 'full' });
    expect((await takeAll()).crons).toEqual([]);

    expect(await crons.pass('alice', { ...start, missed: 1 }, { error: 'busy' })).toBe(true);
    expect(await crons.get('alice', cron.cronId)).toMatchObject({
      dueMs: start.nextMs,
      retries: 0,
      missed: 1,
      lastError: 'busy',
    });
    expect(await crons.pass('alice', start, { error: 'again' })).toBe(false);
  });

  test('a start by hand leaves the schedule alone', async () => {
    const cron = await create(60_000);
    await fire(cron, { dueMs: null });

    expect(await crons.get('alice', cron.cronId)).toMatchObject({ dueMs: cron.dueMs, started: 1 });
  });

  test('a cron without a further due time is not taken again', async () => {
    const cron = await create(-10);
    await fire(cron, { nextMs: null });

    expect(await crons.get('alice', cron.cronId)).toMatchObject({ dueMs: null });
    expect(await takeAll()).toMatchObject({ crons: [], waitMs: null });
  });
});

describe('taking crons', () => {
  test('none is taken before its time, by the clock of the store', async () => {
    await create(60_000);
    const { crons: taken, waitMs, nowMs } = await takeAll();

    expect(taken).toEqual([]);
    expect(waitMs).toBeGreaterThan(50_000);
    expect(Math.abs(nowMs - (await crons.now()))).toBeLessThan(1_000);
    expect((await readCronQueue(store.redis)).length).toBe(0);
  });

  test('a user with many crons does not hide those of another', async () => {
    for (let count = 0; count < 3; count += 1) await create(-1_000);
    await create(-10, 'bob');
    const { crons: taken } = await crons.take({ limit: 10, perUser: 1, leaseMs: 60_000 });

    expect(taken.map(({ userId }) => userId)).toEqual(['alice', 'bob']);
  });

  test('an entry whose cron is gone is removed', async () => {
    const cron = await create(-10);
    await store.redis.use((client) => client.del(store.redis.keys.cron('alice', cron.cronId).record));

    expect(await takeAll()).toMatchObject({ crons: [], waitMs: null });
  });
});

test('a damaged record is named, and hides no other cron', async () => {
  const damaged = await create(-20);
  const sound = await create(-10);
  const { record } = store.redis.keys.cron('alice', damaged.cronId);
  await store.redis.use((client) => client.multi().del(record).set(record, 'foreign').exec());

  expect(await takeAll()).toMatchObject({
    damaged: [`alice/${damaged.cronId}`],
    crons: [{ cronId: sound.cronId }],
  });
  await expect(fire(damaged)).rejects.toThrow('foreign type');
});

describe('records', () => {
  test('a user has a bounded number of crons', async () => {
    for (let count = 0; count < 3; count += 1) await create(60_000);

    await expect(create(60_000)).rejects.toThrow(QuotaError);
    await expect(create(60_000)).rejects.toThrow('crons.max_per_user');
    await expect(create(60_000, 'bob')).resolves.toBeDefined();
  });

  test('of two changes of one version the second is refused', async () => {
    const cron = await create(60_000);
    const changed = await crons.replace({ ...cron, maxRuns: null, spec: '{"a":1}', dueMs: null }, cron.version);

    expect(changed).toMatchObject({ spec: '{"a":1}', dueMs: null, version: cron.version + 1 });
    await expect(crons.replace({ ...cron, maxRuns: null, spec: '{}' }, cron.version)).rejects.toThrow(
      'changed meanwhile',
    );
    await expect(crons.replace({ ...cron, maxRuns: null, cronId: newId() }, 1)).rejects.toThrow('does not exist');
  });

  test('of a removed cron nothing is left, and nobody finds the cron of another user', async () => {
    const cron = await create(60_000);
    await fire(cron, { dueMs: null });
    await expect(crons.get('bob', cron.cronId)).rejects.toThrow('does not exist');
    expect(await crons.remove('alice', cron.cronId)).toBe(true);
    expect(await crons.remove('alice', cron.cronId)).toBe(false);

    expect((await store.keys()).filter((key) => key.includes('cron'))).toEqual([]);
  });

  test('all crons of a user are removed with him, and no cron is made while he is erased', async () => {
    await create(60_000);
    await create(null);
    await crons.removeAll('alice');
    expect(await crons.list('alice')).toEqual([]);

    const { erasing } = store.redis.keys;
    await store.redis.use((client) => client.hset(erasing ?? '', 'alice', 't'));
    await expect(create(60_000)).rejects.toThrow('being erased');
  });
});

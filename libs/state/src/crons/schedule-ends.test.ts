import { FencedError, newId } from '@caribou/contracts';
import type { SchedulePort, ThreadKey } from '@caribou/core';
import { type CronStart, type CronStore, redisCrons, redisSchedules, type StoredCron } from '@caribou/state';
import { admission, type StoreFixture, thread, useStore } from '@caribou/testing';

let store: StoreFixture;
let crons: CronStore;
let schedules: SchedulePort;

useStore((opened) => {
  store = opened;
  crons = redisCrons(opened.redis, { maxPerUser: 10 });
  schedules = redisSchedules(opened.redis);
});

const HOUR_MS = 3_600_000;

async function create(maxRuns: number | null = null): Promise<StoredCron> {
  return crons.create({ userId: 'alice', cronId: newId(), spec: '{}', dueMs: (await crons.now()) - 10, maxRuns });
}

const get = (cron: StoredCron): Promise<StoredCron> => crons.get('alice', cron.cronId);
const dueIds = async (): Promise<string[]> =>
  (await crons.take({ limit: 100, perUser: 100, leaseMs: 60_000 })).crons.map(({ cronId }) => cronId);

/** Starts a run for the due time of a cron, or by hand, on a new thread. */
async function fire(cron: StoredCron, over: Partial<CronStart> = {}) {
  const key = thread();
  const runId = newId();
  const { cronId, version, dueMs } = cron;
  const entry = { id: newId(), trigger: 'scheduled', scheduledFor: 'then', createdAt: 'now', runId, ...key } as const;
  const nextMs = (dueMs ?? 0) + HOUR_MS;
  const start = { cronId, version, dueMs, nextMs, missed: 0, maxRuns: null, entry, ...over };
  await store.threads.admit({ ...admission(key), runId, cron: start });
  return { key, runId };
}

describe('the number of runs', () => {
  test('the run that reaches the limit is the last one, and each was counted once', async () => {
    let cron = await create(2);
    await fire(cron, { maxRuns: 2 });
    cron = await get(cron);
    expect(cron).toMatchObject({ automatic: 1, dueMs: expect.any(Number) });
    await fire(cron, { maxRuns: 2 });

    expect(await get(cron)).toMatchObject({ automatic: 2, started: 2, dueMs: null });
    expect(await dueIds()).not.toContain(cron.cronId);
  });

  test('of processes that start the same due time at once, one does, and it counts once', async () => {
    const cron = await create(2);
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => fire(cron, { maxRuns: 2 })));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(FencedError);
    expect(await get(cron)).toMatchObject({ automatic: 1, started: 1, dueMs: (cron.dueMs ?? 0) + HOUR_MS });
  });

  test('a start whose reply was lost is refused when it is repeated, and not counted again', async () => {
    const cron = await create(1);
    await fire(cron, { maxRuns: 1 });

    await expect(fire(cron, { maxRuns: 1 })).rejects.toThrow(FencedError);
    expect(await get(cron)).toMatchObject({ automatic: 1, dueMs: null });
  });

  test('starts by hand, and due times without a run, do not count', async () => {
    const cron = await create(1);
    await fire(cron, { dueMs: null, maxRuns: null });
    const { cronId, version, dueMs } = cron;
    const entry = { id: newId(), trigger: 'scheduled', scheduledFor: 'then', createdAt: 'now' } as const;
    const start = { cronId, version, dueMs, nextMs: (dueMs ?? 0) + 1, missed: 1, maxRuns: null, entry };
    expect(await crons.pass('alice', start, { error: 'busy' })).toBe(true);

    expect(await get(cron)).toMatchObject({ automatic: 0, started: 1, dueMs: (dueMs ?? 0) + 1 });
  });

  test('a schedule whose runs are used up gets a due time only with a higher limit', async () => {
    let cron = await create(1);
    await fire(cron, { maxRuns: 1 });
    cron = await get(cron);
    const again = { userId: 'alice', cronId: cron.cronId, spec: '{}', dueMs: (await crons.now()) + HOUR_MS };

    await expect(crons.replace({ ...again, maxRuns: 1 }, cron.version)).rejects.toThrow('max_runs: all 1 runs');
    expect(await get(cron)).toEqual(cron);
    expect(await crons.replace({ ...again, maxRuns: 2 }, cron.version)).toMatchObject({ dueMs: again.dueMs });
  });

  test('a change that leaves the due time of a used-up schedule alone is accepted', async () => {
    let cron = await create(1);
    await fire(cron, { maxRuns: 1 });
    cron = await get(cron);
    const renamed = { userId: 'alice', cronId: cron.cronId, spec: '{"title":"x"}', maxRuns: 1 };

    expect(await crons.replace(renamed, cron.version)).toMatchObject({ spec: '{"title":"x"}', dueMs: null });
  });
});

describe(redisSchedules, () => {
  /** A run of the cron that a runner has claimed. */
  async function claimed(cron: StoredCron) {
    const { key, runId } = await fire(cron);
    const { lease } = await store.claim(key);
    return { ...key, runId, epoch: lease.epoch, taskId: cron.cronId };
  }
  const entriesOf = (cron: StoredCron) => crons.runs('alice', cron.cronId, { limit: 10, offset: 0 });

  test('a run stops the schedule that has started it: no due time, and the reason is stored', async () => {
    const cron = await create();
    const run = await claimed(cron);
    const before = await get(cron);
    expect(await schedules.stop(run)).toBe('stopped');

    expect(await get(cron)).toMatchObject({
      dueMs: null,
      stoppedBy: run.runId,
      lastError: `stopped by the agent in run ${run.runId}`,
      version: before.version + 1,
    });
    expect(await entriesOf(cron)).toMatchObject([{ runId: run.runId, hasStopped: true }]);
    expect(await dueIds()).not.toContain(cron.cronId);
  });

  test('a process that has decided about a due time before starts no run after the stop', async () => {
    const cron = await create();
    const run = await claimed(cron);
    const decided = await get(cron);
    await schedules.stop(run);

    await expect(fire(decided)).rejects.toThrow(FencedError);
    expect(await get(cron)).toMatchObject({ automatic: 1, dueMs: null });
  });

  test('calls at once, and one that a takeover repeats, stop it once', async () => {
    const cron = await create();
    const run = await claimed(cron);
    expect(await Promise.all([1, 2, 3].map(() => schedules.stop(run)))).toEqual(['stopped', 'stopped', 'stopped']);
    const stopped = await get(cron);

    await store.redis.use((client) => client.script('FLUSH'));
    expect(await schedules.stop(run)).toBe('stopped');
    expect(await get(cron)).toEqual(stopped);
  });

  test('a repeated call does not stop what a person has resumed meanwhile', async () => {
    const cron = await create();
    const run = await claimed(cron);
    await schedules.stop(run);
    const { version } = await get(cron);
    const dueMs = (await crons.now()) + HOUR_MS;
    await crons.replace({ userId: 'alice', cronId: cron.cronId, spec: '{}', dueMs, maxRuns: null }, version);

    expect(await schedules.stop(run)).toBe('stopped');
    expect(await get(cron)).toMatchObject({ dueMs, stoppedBy: null, lastError: null });
  });

  test('a runner that has lost the thread stops nothing', async () => {
    const cron = await create();
    const run = await claimed(cron);
    const before = await get(cron);

    await expect(schedules.stop({ ...run, epoch: run.epoch + 1 })).rejects.toThrow(FencedError);
    expect(await get(cron)).toEqual(before);
  });

  test('a run of something else, a deleted schedule, and one of another user are foreign', async () => {
    const cron = await create();
    const other = await create();
    const run = await claimed(cron);
    const before = await get(other);

    expect(await schedules.stop({ ...run, taskId: other.cronId })).toBe('foreign');
    expect(await schedules.stop({ ...run, taskId: newId() })).toBe('foreign');
    expect(await get(other)).toEqual(before);
    const bobs: ThreadKey = thread('bob');
    await store.admit(bobs);
    const { lease } = await store.claim(bobs);
    expect(await schedules.stop({ ...bobs, runId: run.runId, epoch: lease.epoch, taskId: cron.cronId })).toBe(
      'foreign',
    );
  });

  test('a schedule without due times is over', async () => {
    const cron = await create(1);
    const { key, runId } = await fire(cron, { maxRuns: 1 });
    const { lease } = await store.claim(key);
    const run = { ...key, runId, epoch: lease.epoch, taskId: cron.cronId };

    expect(await schedules.stop(run)).toBe('over');
    expect(await get(cron)).toMatchObject({ stoppedBy: null, lastError: null });
  });

  test('a key of a foreign type is named, and nothing is written', async () => {
    const cron = await create();
    const run = await claimed(cron);
    const { record } = store.redis.keys.cron('alice', cron.cronId);
    await store.redis.use((client) => client.multi().del(record).set(record, 'foreign').exec());

    await expect(schedules.stop(run)).rejects.toThrow('foreign type');
    expect(await entriesOf(cron)).toMatchObject([{ runId: run.runId }]);
  });
});

import { BugError, FencedError, newId, taskIds } from '@caribou/contracts';
import { type NewTask, type RunStore, type TaskSlot, type TaskSlots, redisTaskSlots } from '@caribou/state';
import {
  type ClaimedRun,
  openTasks,
  sampleTask,
  startRedis,
  type TaskFixture,
  type TestServer,
  thread,
} from '@caribou/testing';
import { HeldTasks } from './held-tasks.js';
import { createSlottedStore } from './slotted-store.js';

const LIMITS = { maxRunning: 10, maxRunningPerUser: 10 };

let server: TestServer;
let fixture: TaskFixture;
let slots: TaskSlots;
let held: HeldTasks;
let store: RunStore;
let parent: ClaimedRun;
let task: NewTask;

beforeAll(async () => {
  server = await startRedis({ appendonly: false });
});
beforeEach(async () => {
  fixture = openTasks(server.url);
  const { main, part, runs } = fixture;
  slots = redisTaskSlots({ tasks: part, parents: main.redis, leaseMs: 60_000 });
  held = new HeldTasks();
  store = createSlottedStore({ store: runs, slots, forget: (key) => fixture.tasks.forget(key), held });
  const key = thread();
  await main.admit(key);
  parent = await main.claim(key);
  task = sampleTask({ parent: key, runId: parent.run.run_id });
  await fixture.tasks.dispatch(task);
});
afterEach(() => fixture.close());
afterAll(() => server.stop());

/** The slot of the task that waits, held by this process. */
async function slotted(): Promise<TaskSlot> {
  const slot = await slots.acquire(LIMITS);
  if (slot === null) throw new Error('no slot was given');
  held.add(slot);
  return slot;
}

async function claimed(slot: TaskSlot): Promise<ClaimedRun> {
  const claim = await store.claim(slot, newId());
  if (claim.kind !== 'run') throw new Error(`the claim answered ${claim.kind}`);
  return claim;
}

const stopParent = (action: 'interrupt' | 'rollback' = 'interrupt') =>
  fixture.main.threads.requestCancel(parent.lease, parent.run.run_id, action);
const endParent = (rollback = false) =>
  fixture.main.finish(parent, { status: rollback ? 'interrupted' : 'success', rollback });

describe('a claim', () => {
  test('notes for whom the task is worked on', async () => {
    const slot = await slotted();

    expect((await claimed(slot)).run.cancel).toBeNull();

    expect(held.of(slot)?.spec).toEqual(task.spec);
    expect(held.runsFor(parent.run.run_id)).toEqual([taskIds(parent.run.run_id, 'call_1').runId]);
  });

  test.each([
    ['told to stop', () => stopParent()],
    ['told to roll back', () => stopParent('rollback')],
    ['over', () => endParent()],
    ['gone without a trace', () => endParent(true)],
  ])('of a task whose parent is %s is that of a cancelled one', async (_, end) => {
    await end();

    expect((await claimed(await slotted())).run.cancel).toBe('interrupt');
  });

  test('keeps the cancel that the task has of its own', async () => {
    const slot = await slotted();
    const { lease, run } = await claimed(slot);
    await fixture.tasks.cancel(run);
    await fixture.runs.handOver(lease);
    await endParent(true);

    expect((await claimed(slot)).run.cancel).toBe('interrupt');
  });

  test('with nothing to run, or run by another, needs no slot', async () => {
    const slot = await slotted();
    expect(await store.claim(thread(), newId())).toEqual({ kind: 'idle' });
    await claimed(slot);
    expect(await store.claim(slot, newId())).toEqual({ kind: 'busy' });
  });

  test('without the slot is a defect', async () => {
    await expect(store.claim(fixture.tasks.threadOf({ ...parentCall() }), newId())).rejects.toThrow(BugError);
  });

  test('on a slot that is lost is fenced', async () => {
    const slot = await slotted();
    await slots.release(slot);
    await slots.acquire(LIMITS);

    await expect(claimed(slot)).rejects.toThrow(FencedError);
  });
});

describe('a renewal', () => {
  test('prolongs lease and slot together', async () => {
    const slot = await slotted();
    const { lease } = await claimed(slot);
    const { part } = fixture;
    const [member] = await part.use((client) => client.zrange(part.keys.slots, 0, 0));
    const before = Number(await part.use((client) => client.zscore(part.keys.slots, member ?? '')));
    await part.use((client) => client.zadd(part.keys.slots, 'XX', before - 30_000, member ?? ''));
    await part.use((client) => client.pexpire(part.keys.thread(slot).lease, 30_000));

    expect(await store.renew(lease)).toEqual({ cancel: null });

    expect(Number(await part.use((client) => client.zscore(part.keys.slots, member ?? '')))).toBeGreaterThanOrEqual(
      before,
    );
    expect(await part.use((client) => client.pttl(part.keys.thread(slot).lease))).toBeGreaterThan(30_000);
  });

  test('fails once the slot is lost, and leaves the lease to lapse', async () => {
    const slot = await slotted();
    const { lease } = await claimed(slot);
    const { part } = fixture;
    await slots.release(slot);
    await part.use((client) => client.pexpire(part.keys.thread(slot).lease, 30_000));

    await expect(store.renew(lease)).rejects.toThrow(FencedError);

    expect(await part.use((client) => client.pttl(part.keys.thread(slot).lease))).toBeLessThanOrEqual(30_000);
  });

  test('fails once the lease is lost, though the slot is there', async () => {
    const slot = await slotted();
    const { lease } = await claimed(slot);
    await fixture.runs.handOver(lease);

    await expect(store.renew(lease)).rejects.toThrow(FencedError);
  });

  test.each([
    ['told to stop', () => stopParent()],
    ['over', () => endParent()],
    ['gone without a trace', () => endParent(true)],
  ])('of a task whose parent is %s ends it', async (_, end) => {
    const { lease } = await claimed(await slotted());
    expect(await store.renew(lease)).toEqual({ cancel: null });

    await end();

    expect(await store.renew(lease)).toEqual({ cancel: 'interrupt' });
  });

  test('tells of the task’s own cancel first', async () => {
    const { lease, run } = await claimed(await slotted());
    await fixture.tasks.cancel(run);
    await endParent(true);

    expect(await store.renew(lease)).toEqual({ cancel: 'interrupt' });
  });
});

describe('the end of a task', () => {
  const ending = { status: 'interrupted', events: [] } as const;
  /** All keys of tasks, without the order of users, which has its own deadline. */
  const leftovers = async (): Promise<readonly string[]> =>
    (await fixture.main.keys()).filter((key) => key.includes('tasks:') && !/offspring|slots:served$/.test(key));

  test.each([
    ['lives', () => Promise.resolve()],
    ['is over', () => endParent()],
  ])('leaves its steps to be read when its parent %s', async (_, end) => {
    const { lease } = await claimed(await slotted());
    await end();

    await store.finish(lease, ending);

    expect(await fixture.tasks.find(parentCall())).toMatchObject({ status: 'interrupted' });
  });

  test('leaves nothing when nothing is left of its parent, though it was told to end before', async () => {
    const slot = await slotted();
    const { lease, run } = await claimed(slot);
    await fixture.tasks.cancel(run);
    await endParent(true);

    await store.finish(lease, ending);
    await slots.release(slot);

    expect(await fixture.tasks.find(parentCall())).toBeNull();
    expect(await leftovers()).toEqual([]);
  });
});

test('a task that another version wrote is worked on without a look at its parent', async () => {
  const slot = await slotted();
  const { part } = fixture;
  const { run_id: runId } = (await fixture.tasks.find(parentCall())) ?? { run_id: '' };
  await part.use((client) => client.hset(part.keys.runPrefix(slot.userId) + runId, 'metadata', '{}'));
  await endParent();

  const { run, lease } = await claimed(slot);

  expect(run.cancel).toBeNull();
  expect(await store.renew(lease)).toEqual({ cancel: null });
});

const parentCall = () => ({ userId: 'alice', parentRunId: parent.run.run_id, toolCallId: 'call_1' });

import { ConflictError, newId, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { NewTask, TaskStore } from '../ports/task-store.js';
import type { RunStore } from '../ports/run-store.js';
import { admission, ai, callOfTask, sampleTask, type StoreFixture, thread, useStore } from '@caribou/testing';
import type { RedisConnection } from '../redis/connection.js';
import { redisRunStore } from '../runs/run-store.js';
import { redisTaskStore } from './task-store.js';

let main: StoreFixture;
let part: RedisConnection;
let runs: RunStore;
let tasks: TaskStore;

useStore((opened) => {
  main = opened;
  part = main.redis.part('tasks');
  runs = redisRunStore(part);
  tasks = redisTaskStore(part, { maxPending: 5_000, maxPendingPerUser: 5_000, keptMs: 3_600_000 });
});

async function claimed(asked: NewTask) {
  const claim = await runs.claim(tasks.threadOf(callOfTask(asked)), newId());
  if (claim.kind !== 'run') throw new Error(`the claim answered ${claim.kind}`);
  return claim;
}
const endedAs = async (asked: NewTask, rollback: boolean) =>
  runs.finish((await claimed(asked)).lease, { status: 'success', events: [], rollback });

const statusesOf = async (parent: ThreadKey): Promise<string[]> =>
  (await tasks.tasksOf(parent)).map(({ status }) => status);

const keysOf = async (asked: NewTask): Promise<readonly string[]> => {
  const { threadId } = tasks.threadOf(callOfTask(asked));
  const run = (await tasks.find(callOfTask(asked)))?.run_id ?? 'none';
  return (await main.keys()).filter((key) => key.includes(threadId) || key.includes(run));
};

describe('the tasks of a thread', () => {
  test('are those that its runs delegated, oldest first, in every state, and of no other thread', async () => {
    const parent = thread();
    const mine = [0, 1, 2].map((at) => sampleTask({ parent, toolCallId: `call_${at}` }));
    for (const asked of mine) await tasks.dispatch(asked);
    await tasks.dispatch(sampleTask());
    await tasks.dispatch(sampleTask({ parent: { ...parent, userId: 'bob' } }));
    const [first, second] = mine;
    if (first === undefined || second === undefined) throw new Error('no tasks');
    await endedAs(first, false);
    await claimed(second);

    const found = await tasks.tasksOf(parent);

    expect(found.map(({ metadata }) => metadata)).toEqual(mine.map(({ spec }) => ({ task: spec })));
    expect(found.map(({ status }) => status)).toEqual(['success', 'running', 'pending']);
    expect(await tasks.tasksOf(thread())).toEqual([]);
  });

  test('do not have one that was rolled back', async () => {
    const parent = thread();
    const asked = sampleTask({ parent });
    await tasks.dispatch(asked);
    await endedAs(asked, true);

    expect(await tasks.tasksOf(parent)).toEqual([]);
    expect(await tasks.find(callOfTask(asked))).toBeNull();
  });

  test('are at most a thousand, the newest', async () => {
    const parent = thread();
    const list = part.keys.childThreads(parent);
    const old = Array.from({ length: 1_200 }, (_, at): (string | number)[] => [at, `old-${at}`]);
    await part.use((client) => client.zadd(list, ...old.flat()));

    await tasks.dispatch(sampleTask({ parent }));

    expect(await part.use((client) => client.zcard(list))).toBe(1_000);
    expect(await statusesOf(parent)).toEqual(['pending']);
  });
});

describe('removing the tasks of a thread', () => {
  test('removes the ones that ended, and leaves the others to the pools that run them', async () => {
    const parent = thread();
    const [done, waiting, running] = ['a', 'b', 'c'].map((toolCallId) => sampleTask({ parent, toolCallId }));
    const other = sampleTask();
    if (done === undefined || waiting === undefined || running === undefined) throw new Error('no tasks');
    for (const asked of [done, waiting, running, other]) await tasks.dispatch(asked);
    const { lease } = await claimed(running);
    await endedAs(done, false);
    expect((await keysOf(done)).length).toBeGreaterThan(3);

    await tasks.forgetTasksOf(parent);

    expect(await keysOf(done)).toEqual([]);
    expect(await tasks.find(callOfTask(done))).toBeNull();
    expect(await runs.renew(lease)).toEqual({ cancel: null });
    await runs.finish(lease, { status: 'success', events: [] });
    expect(await tasks.find(callOfTask(running))).toMatchObject({ status: 'success' });
    expect(await tasks.find(callOfTask(waiting))).toMatchObject({ status: 'pending' });
    expect(await tasks.find(callOfTask(other))).toMatchObject({ status: 'pending' });
    expect(await tasks.tasksOf(parent)).toEqual([]);
  });

  test('leaves those of another user whose thread has the same id', async () => {
    const parent = thread();
    const other = { ...parent, userId: 'bob' };
    await tasks.dispatch(sampleTask({ parent: other }));

    await tasks.forgetTasksOf(parent);

    expect(await statusesOf(other)).toEqual(['pending']);
  });

  test('twice, or of removed tasks, does not fail', async () => {
    const parent = thread();
    const asked = sampleTask({ parent });
    await tasks.dispatch(asked);
    await endedAs(asked, false);
    await part.use((client) => client.zadd(part.keys.childThreads(parent), 0, 'expired-already'));

    await tasks.forgetTasksOf(parent);
    await tasks.forgetTasksOf(parent);
    await tasks.forgetTasksOf(thread());

    expect(await main.keys()).toEqual([]);
  });
});

describe('a temporary thread that ended', () => {
  async function endedThread(): Promise<ThreadKey> {
    const key = thread();
    await main.admit(key, { kwargs: { ...admission(key).kwargs, temporary: true } });
    const claim = await main.claim(key);
    await main.step(claim, { messages: [ai('hi')] });
    await main.finish(claim);
    return key;
  }

  test('is removed only by a deletion that includes such threads', async () => {
    const key = await endedThread();

    await expect(main.threads.deleteThread(key)).rejects.toThrow(NotFoundError);
    expect((await main.keys()).length).toBeGreaterThan(0);
    await main.threads.deleteThread(key, { ended: true });

    expect((await main.keys()).filter((name) => name.includes(key.threadId))).toEqual([]);
    await expect(main.threads.deleteThread(key, { ended: true })).rejects.toThrow(NotFoundError);
  });

  test('that has not ended is busy for both', async () => {
    const key = thread();
    await main.admit(key);

    await expect(main.threads.deleteThread(key, { ended: true })).rejects.toThrow(ConflictError);
    await main.claim(key);
    await expect(main.threads.deleteThread(key, { ended: true })).rejects.toThrow(ConflictError);
  });
});

describe('the time a run has taken', () => {
  test('counts from its first claim, by the clock of the store, for every owner', async () => {
    const asked = sampleTask();
    await tasks.dispatch(asked);
    const first = await claimed(asked);
    expect(first.ranMs).toBe(0);
    await runs.handOver(first.lease);
    const { run_id: runId } = first.run;
    const started = Date.parse(first.run.started_at ?? '');
    const record = `${part.keys.runPrefix(asked.userId)}${runId}`;
    await part.use((client) => client.hset(record, 'started', String(started - 5_000)));

    const second = await claimed(asked);

    expect(second.ranMs).toBeGreaterThanOrEqual(5_000);
    expect(second.ranMs).toBeLessThan(65_000);
    expect(second.run.started_at).toBe(new Date(started - 5_000).toISOString());
  });
});

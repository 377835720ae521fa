import { ConflictError, newId, NotFoundError, RateLimitedError, taskIds } from '@caribou/contracts';
import { applyUpdate, type ThreadKey } from '@caribou/core';
import { type NewTask, type TaskStore } from '../ports/task-store.js';
import { type RunStore } from '../ports/run-store.js';
import { ai, callOfTask, sampleTask, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';
import type { RedisConnection } from '../redis/connection.js';
import { redisEventLog } from '../events/event-log.js';
import { redisRunStore } from '../runs/run-store.js';
import { redisTaskStore, type TaskStoreOptions } from './task-store.js';

let main: StoreFixture;
let part: RedisConnection;
let runs: RunStore;

const KEPT_MS = 3_600_000;
const DAY_MS = 86_400_000;

useStore((opened) => {
  main = opened;
  part = main.redis.part('tasks');
  runs = redisRunStore(part, { eventsTtlMs: KEPT_MS });
});

const storeWith = (options: Partial<TaskStoreOptions> = {}): TaskStore =>
  redisTaskStore(part, { maxPending: 100, maxPendingPerUser: 100, keptMs: KEPT_MS, ...options });

const threadOf = (asked: NewTask): ThreadKey => storeWith().threadOf(callOfTask(asked));

async function claimed(asked: NewTask) {
  const claim = await runs.claim(threadOf(asked), newId());
  if (claim.kind !== 'run') throw new Error(`the claim answered ${claim.kind}`);
  return claim;
}

/** Executes the task as a pool does: one answer, and its end. */
async function workedOn(asked: NewTask): Promise<void> {
  const { lease, head } = await claimed(asked);
  const state = applyUpdate(head.state, { messages: [ai('It is done.')] });
  const commit = { head, state, next: [], source: 'loop' as const, step: 1, events: [] };
  await runs.finish(lease, { status: 'success', events: [], commit });
}

describe('delegating a task', () => {
  test('creates a run on a separate thread, with ids derived from the call and all that the pool needs', async () => {
    const asked = sampleTask();

    const run = await storeWith().dispatch(asked);

    const { runId, threadId } = taskIds(asked.spec.parent.run_id, 'call_1');
    expect(run).toMatchObject({
      run_id: runId,
      thread_id: threadId,
      user_id: 'alice',
      assistant_id: 'bash',
      status: 'pending',
      metadata: { task: asked.spec },
      started_at: null,
      kwargs: {
        input: { messages: [{ type: 'human', id: 'prompt-1', content: 'Do it.' }] },
        recursion_limit: 30,
        timeout_ms: 900_000,
        temporary: true,
        context: { model_name: 'm', thinking_enabled: false, non_interactive: true },
      },
    });
    expect(await runs.listUnowned(10)).toEqual([{ userId: 'alice', threadId, interrupted: false, rank: 0 }]);
  });

  test('again returns the same task, in every state', async () => {
    const store = storeWith();
    const asked = sampleTask();
    const { run_id: runId } = await store.dispatch(asked);
    const before = await main.dump();

    expect(await store.dispatch(asked)).toMatchObject({ run_id: runId, status: 'pending' });
    expect(await main.dump()).toEqual(before);
    const { lease } = await claimed(asked);
    expect(await store.dispatch(asked)).toMatchObject({ run_id: runId, status: 'running', attempt: 1 });
    await runs.finish(lease, { status: 'success', events: [] });
    expect(await store.dispatch(asked)).toMatchObject({ run_id: runId, status: 'success' });
    expect(await runs.listUnowned(10)).toEqual([]);
  });

  test('concurrently in two processes creates one task', async () => {
    const asked = sampleTask();

    const all = await Promise.all(Array.from({ length: 8 }, () => storeWith().dispatch(asked)));

    expect(new Set(all.map(({ run_id }) => run_id)).size).toBe(1);
    expect(await storeWith().tasksOf({ userId: 'alice', threadId: asked.spec.parent.thread_id })).toHaveLength(1);
  });

  test('with other arguments under the same call is refused, and the first task remains', async () => {
    const store = storeWith();
    const runId = newId();
    const first = sampleTask({ runId });
    await store.dispatch(first);

    await expect(store.dispatch(sampleTask({ runId, spec: { args_hash: 'other' } }))).rejects.toThrow(ConflictError);

    expect((await store.find(callOfTask(first)))?.metadata).toEqual({ task: first.spec });
  });

  test('above the limit of a user is refused for that user alone, until a task of the user ends', async () => {
    const store = storeWith({ maxPendingPerUser: 2 });
    const first = sampleTask();
    await store.dispatch(first);
    await store.dispatch(sampleTask());

    await expect(store.dispatch(sampleTask())).rejects.toThrow(RateLimitedError);
    await store.dispatch(sampleTask({ parent: thread('bob') }));
    expect(await store.dispatch(first)).toMatchObject({ status: 'pending' });
    await workedOn(first);

    await store.dispatch(sampleTask());
  });

  test('above the limit of all users is refused for everybody, until a task ends', async () => {
    const store = storeWith({ maxPending: 2 });
    const first = sampleTask();
    await store.dispatch(first);
    await store.dispatch(sampleTask({ parent: thread('bob') }));

    const refused = store.dispatch(sampleTask({ parent: thread('carol') }));
    await expect(refused).rejects.toMatchObject({ name: 'RateLimitedError', details: { limit: 2 } });
    await workedOn(first);

    await store.dispatch(sampleTask({ parent: thread('carol') }));
  });

  test('writes nothing to the part for threads: no thread, no run, no work, nothing in flight', async () => {
    const parent = thread();
    const asked = sampleTask({ parent });
    const before = Object.keys(await main.dump());
    await storeWith().dispatch(asked);

    const key = threadOf(asked);
    expect(await main.runs.listUnowned(10)).toEqual([]);
    expect(await main.isPending(key)).toBe(false);
    expect(await main.runs.claim(key, newId())).toEqual({ kind: 'idle' });
    await expect(main.threads.getThread(key)).rejects.toThrow(NotFoundError);
    await expect(main.threads.getRun(key, taskIds(asked.spec.parent.run_id, 'call_1').runId)).rejects.toThrow(
      NotFoundError,
    );
    const made = (await main.keys()).filter((name) => !before.includes(name));
    expect(made.every((name) => name.startsWith(`${main.prefix}tasks:`))).toBe(true);
    expect(made.length).toBeGreaterThan(0);
  });
});

describe('the record of a task', () => {
  test('is found by the call with its thread, and is null for a call without a task', async () => {
    const store = storeWith();
    const asked = sampleTask();
    const run = await store.dispatch(asked);
    expect(await store.head(run)).toBeNull();
    await workedOn(asked);

    const found = await store.find(callOfTask(asked));
    expect(found).toMatchObject({ run_id: run.run_id, status: 'success' });
    expect(textsOf((await store.head(run))?.state.messages ?? [])).toEqual(['It is done.']);
    expect(await store.find({ ...callOfTask(asked), toolCallId: 'call_2' })).toBeNull();
    expect(await store.find({ ...callOfTask(asked), userId: 'bob' })).toBeNull();
  });

  test('expires some time after the end, the list of the parent last', async () => {
    const parent = thread();
    const asked = sampleTask({ parent });
    await storeWith().dispatch(asked);
    await workedOn(asked);

    const ttls = new Map<string, number>();
    for (const key of await main.keys()) ttls.set(key, await part.use((client) => client.pttl(key)));
    const children = part.keys.childThreads(parent);
    for (const [key, ttl] of ttls) {
      if (key === children) continue;
      expect([key, ttl > KEPT_MS - 60_000 && ttl <= KEPT_MS]).toEqual([key, true]);
    }
    expect(ttls.get(children)).toBeGreaterThan(KEPT_MS);
  });

  test('is in the list of its parent for as long as a task may wait, run and be stored', async () => {
    const parent = thread();
    await storeWith({ keptMs: 60_000 }).dispatch(sampleTask({ parent }));

    const ttl = await part.use((client) => client.pttl(part.keys.childThreads(parent)));
    expect(ttl).toBeGreaterThan(2 * DAY_MS);
  });

  test('has the time of its admission and of its first claim by a pool', async () => {
    const asked = sampleTask();
    const run = await storeWith().dispatch(asked);
    const first = await claimed(asked);
    await runs.handOver(first.lease);
    const second = await claimed(asked);

    expect(first.run.started_at).not.toBeNull();
    expect(Date.parse(first.run.started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(run.created_at));
    expect(second.run).toMatchObject({ attempt: 2, started_at: first.run.started_at });
  });
});

describe('ending a task', () => {
  test('that no pool took ends it at once, with its terminal event', async () => {
    const store = storeWith();
    const asked = sampleTask();
    const run = await store.dispatch(asked);

    expect(await store.cancel(run)).toMatchObject({ broadcast: false, run: { status: 'interrupted' } });

    expect(await store.find(callOfTask(asked))).toMatchObject({ status: 'interrupted' });
    expect(await runs.claim(threadOf(asked), newId())).toEqual({ kind: 'idle' });
    const { events } = await redisEventLog(part).read('alice', run.run_id, { after: 0, limit: 10 });
    expect(events.map(({ event }) => event)).toEqual([{ kind: 'end', status: 'interrupted' }]);
    const ttl = await part.use((client) => client.pttl(part.keys.thread(threadOf(asked)).record));
    expect(ttl).toBeGreaterThan(KEPT_MS - 60_000);
  });

  test('that is running notifies its pool; an ended one does not change', async () => {
    const store = storeWith();
    const asked = sampleTask();
    const run = await store.dispatch(asked);
    const { lease } = await claimed(asked);

    expect(await store.cancel(run)).toMatchObject({ broadcast: true, run: { status: 'running' } });
    expect(await runs.renew(lease)).toEqual({ cancel: 'interrupt' });

    const other = sampleTask();
    const done = await store.dispatch(other);
    await workedOn(other);
    expect(await store.cancel(done)).toMatchObject({ broadcast: false, run: { status: 'success' } });
  });
});

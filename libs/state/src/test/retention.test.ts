import { newId, NotFoundError, type StateUpdate, TooLargeError } from '@caribou/contracts';
import type { ThreadHead, ThreadKey } from '@caribou/core';
import {
  ai,
  type ClaimedRun,
  human,
  openStores,
  startRedis,
  type StoreFixture,
  type TestServer,
  textsOf,
  thread,
} from '@caribou/testing';
import { MAX_RANGES } from '../checkpoints/head-log.js';

let server: TestServer;
const opened: StoreFixture[] = [];

beforeAll(async () => {
  server = await startRedis();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});
afterAll(async () => {
  await server.stop();
});

function open(options: Parameters<typeof openStores>[1] = {}): StoreFixture {
  const store = openStores(server.url, options);
  opened.push(store);
  return store;
}

/** Commits updates one after the other. */
async function steps(store: StoreFixture, claimed: ClaimedRun, updates: readonly StateUpdate[]): Promise<ThreadHead> {
  let { head } = claimed;
  for (const update of updates) head = (await store.step({ lease: claimed.lease, head }, update)).head;
  return head;
}

const countOf = (store: StoreFixture, key: string): Promise<number> => store.redis.use((client) => client.hlen(key));
const ttlOf = (store: StoreFixture, key: string): Promise<number> => store.redis.use((client) => client.pttl(key));

describe('the log of a thread', () => {
  test('messages replaced in the middle are compacted above the range limit, and every checkpoint still has its own', async () => {
    const store = open();
    const key = thread();
    const messages = Array.from({ length: 80 }, (_, index) => human(`${index}`));
    await store.admit(key);
    const claimed = await store.claim(key);
    const expected: unknown[][] = [];

    let head = await steps(store, claimed, [{ messages }]);
    for (let index = 1; index < 80; index += 2) {
      head = await steps(store, { ...claimed, head }, [{ messages: [human(`new ${index}`, messages[index]?.id)] }]);
      expected.unshift(textsOf(head.state.messages));
    }

    const history = await store.threads.history(key, { limit: expected.length });
    expect(history.map((view) => textsOf(view.state.messages))).toEqual(expected);
    const { checkpoints } = store.redis.keys.thread(key);
    const texts = await store.redis.use((client) => client.hvals(checkpoints));
    const ranges = texts.map((text) => (JSON.parse(text) as { ranges: unknown[] }).ranges.length);
    expect(Math.max(...ranges)).toBeLessThanOrEqual(MAX_RANGES);
    expect(Math.max(...ranges)).toBeGreaterThan(MAX_RANGES - 4);
  });

  test('entries that no stored checkpoint refers to are freed, and the others stay readable', async () => {
    const store = open({ keptCheckpoints: 5, eventsTtlMs: 1 });
    const key = thread();
    const [kept, busy] = [human('kept'), human('busy')];
    await store.turn(key, { messages: [kept, busy] });
    for (let turn = 0; turn < 4; turn += 1) {
      await store.admit(key);
      const claimed = await store.claim(key);
      await steps(
        store,
        claimed,
        Array.from({ length: 150 }, (_, index) => ({
          title: `${turn}.${index}`,
          messages: [human(`${turn}.${index}`, busy.id)],
        })),
      );
      await store.finish(claimed);
      await expiry(store, key);
    }

    expect(await countOf(store, store.redis.keys.thread(key).log)).toBeLessThan(900);
    expect(textsOf((await store.threads.head(key))?.state.messages ?? [])).toEqual(['kept', '3.149']);
    for (const view of await store.threads.history(key, { limit: 1000 })) expect(view.state.messages).toHaveLength(2);
  });
});

/** Waits until the thread has no event log. */
async function expiry(store: StoreFixture, key: ThreadKey): Promise<void> {
  const runs = await store.threads.listRuns(key, { limit: 100, offset: 0 });
  const logs = runs.map((run) => store.redis.keys.runEvents(key.userId, run.run_id));
  while ((await store.redis.use((client) => client.exists(...logs))) > 0);
}

describe('checkpoints', () => {
  test('the newest are retained, and of the older ones only the base of every run', async () => {
    const store = open({ keptCheckpoints: 5, eventsTtlMs: 1 });
    const key = thread();
    const bases = new Set<string | null>();
    for (let turn = 0; turn < 12; turn += 1) {
      await store.admit(key);
      const claimed = await store.claim(key);
      bases.add(claimed.run.base_checkpoint_id);
      await steps(store, claimed, [{ messages: [human(`${turn}`)] }, { messages: [ai('x')] }, { messages: [ai('y')] }]);
      await store.finish(claimed);
      await expiry(store, key);
    }
    bases.delete(null);

    const ids = (await store.threads.history(key, { limit: 1000 })).map((view) => view.checkpointId);

    expect(ids.length).toBeGreaterThanOrEqual(5 + bases.size - 2);
    expect(ids.length).toBeLessThanOrEqual(5 + bases.size + 4);
    for (const base of bases) expect(ids).toContain(base);
  });

  test('a run whose event log exists retains all of its checkpoints', async () => {
    const store = open({ keptCheckpoints: 5 });
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await steps(
      store,
      claimed,
      Array.from({ length: 20 }, (_, index) => ({ title: `${index}` })),
    );
    await store.finish(claimed);
    await store.turn(key, { messages: [human('a')] });

    expect(await store.threads.history(key, { limit: 100 })).toHaveLength(21);
  });

  test('the base of a deleted run is removed once pruning has passed it', async () => {
    const store = open({ keptCheckpoints: 2, eventsTtlMs: 1 });
    const key = thread();
    const { head } = await store.turn(key, { messages: [human('0')] });
    const { run } = await store.turn(key, { messages: [human('1')] });
    await expiry(store, key);
    for (let turn = 0; turn < 6; turn += 1) {
      await store.turn(key, { messages: [human(`${turn}`)] });
      await expiry(store, key);
    }
    expect((await store.threads.checkpoint(key, head.checkpointId ?? '')).state.messages).toHaveLength(1);

    await store.threads.deleteRun(key, run.run_id);

    await expect(store.threads.checkpoint(key, head.checkpointId ?? '')).rejects.toThrow('does not exist');
  });
});

/**
 * Runs `work` with a millisecond of its own for each script: a score that two of them set in the same one is logged once.
 */
async function apart({ redis }: StoreFixture, work: () => Promise<unknown>): Promise<void> {
  const run = redis.run.bind(redis);
  const storeMs = async (): Promise<number> => {
    const [seconds, microseconds] = await redis.use((client) => client.time());
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  };
  let lastMs = await storeMs();
  const spy = jest.spyOn(redis, 'run').mockImplementation(async (...call) => {
    while ((await storeMs()) <= lastMs);
    const reply = await run(...call);
    lastMs = await storeMs();
    return reply;
  });
  await work().finally(() => spy.mockRestore());
}

describe('bytes written per step', () => {
  test('turn 200 of a thread writes what turn 5 wrote', async () => {
    const store = open();
    const key = thread();
    // Buffered bytes count, too: Redis delays the write while a sync of the file is under way.
    const appendOnlyBytes = async (): Promise<number> => {
      const info = await store.redis.use((client) => client.info('persistence'));
      return Number(/aof_current_size:(\d+)/.exec(info)?.[1]) + Number(/aof_buffer_length:(\d+)/.exec(info)?.[1]);
    };
    const turn = () => store.turn(key, { messages: [human('q'.repeat(500)), ai('a'.repeat(1000))] });
    const written: number[] = [];
    for (let count = 1; count <= 200; count += 1) {
      if (count !== 5 && count !== 200) await turn();
      else {
        const before = await appendOnlyBytes();
        await apart(store, turn);
        written.push((await appendOnlyBytes()) - before);
      }
    }
    const [early = 0, late] = written;

    expect((await store.threads.head(key))?.state.messages).toHaveLength(400);
    expect(late).toBeLessThan(1.02 * early);
    expect(late).toBeLessThan(10_000);
  });
});

describe('event logs', () => {
  test('a live log has no deadline; after the end it has one, as have those of runs that were rolled back', async () => {
    const store = open({ eventsTtlMs: 3_600_000 });
    const key = thread();
    const [first, second] = [await store.admit(key), await store.admit(key)];
    const claimed = await store.claim(key);
    await store.runs.append(claimed.lease, [{ kind: 'custom', data: 1 }]);
    const log = (runId: string): string => store.redis.keys.runEvents(key.userId, runId);
    expect(await ttlOf(store, log(first.run_id))).toBe(-1);

    await store.finish(claimed);
    await store.threads.requestCancel(key, second.run_id, 'rollback');

    for (const run of [first, second]) {
      const ttlMs = await ttlOf(store, log(run.run_id));
      expect(ttlMs).toBeGreaterThan(3_500_000);
      expect(ttlMs).toBeLessThanOrEqual(3_600_000);
    }
  });

  test('a log above its cap loses the events before its newest checkpoint, but no number', async () => {
    const store = open({ maxLogBytes: 2500 });
    const key = thread();
    const run = await store.admit(key);
    const claimed = await store.claim(key);
    const big = { kind: 'custom' as const, data: 'x'.repeat(900) };
    await store.runs.append(claimed.lease, [big]);
    const { head } = await store.step(claimed, { messages: [human('a')] });
    await store.runs.append(claimed.lease, [big]);
    expect((await store.events.read(key.userId, run.run_id, { after: 0, limit: 100 })).firstKept).toBe(1);

    await store.runs.append(claimed.lease, [big]);

    const log = await store.events.read(key.userId, run.run_id, { after: 0, limit: 100 });
    expect(log).toMatchObject({ firstKept: 2, lastSeq: 4 });
    expect(log.events[0]?.event).toMatchObject({ kind: 'checkpoint', checkpoint_id: head.checkpointId });
  });

  test('without a checkpoint to trim to, a log is refused above twice its cap', async () => {
    const store = open({ maxLogBytes: 1000 });
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    const big = { kind: 'custom' as const, data: 'x'.repeat(1000) };
    await store.runs.append(claimed.lease, [big, big]);

    await expect(store.runs.append(claimed.lease, [big])).rejects.toThrow(TooLargeError);
    await store.step(claimed, { messages: [human('a')] });
    await store.runs.append(claimed.lease, [big]);
  });
});

describe('temporary threads', () => {
  test('they are listed nowhere, and after the end readable only by their run, for as long as its events', async () => {
    const store = open();
    const key = thread();
    const request = {
      kwargs: {
        input: null,
        context: {},
        recursion_limit: 1,
        stream_mode: [],
        stream_subgraphs: false,
        on_disconnect: 'cancel' as const,
        temporary: true,
      },
    };
    const run = await store.admit(key, request);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('a')] });
    const search = { userId: key.userId, limit: 10, offset: 0, sortBy: 'updated_at', sortOrder: 'desc' } as const;
    expect(await store.threads.searchThreads(search)).toEqual({ threads: [], total: 0 });

    await store.finish(claimed);

    expect((await store.threads.head(key))?.state.messages).toHaveLength(1);
    expect((await store.threads.getRun(key, run.run_id)).status).toBe('success');
    expect((await store.events.read(key.userId, run.run_id, { after: 0, limit: 10 })).lastSeq).toBe(2);
    const uses = [
      store.threads.getThread(key),
      store.threads.patchThread(key, {}),
      store.threads.updateState(key, { title: 'x' }),
      store.threads.listRuns(key, { limit: 1, offset: 0 }),
      store.threads.copyThread(key, newId()),
      store.threads.deleteThread(key),
      store.admit(key),
    ];
    expect(await Promise.allSettled(uses)).toEqual(
      uses.map(() => ({ status: 'rejected', reason: expect.any(NotFoundError) })),
    );
    await store.filesGone(key);
    const withoutDeadline = [];
    for (const name of await store.keys()) if ((await ttlOf(store, name)) === -1) withoutDeadline.push(name);
    expect(withoutDeadline).toEqual([]);
  });

  test('one whose only run was cancelled in the queue is removed as well', async () => {
    const store = open();
    const key = thread();
    const run = await store.admit(key, {
      kwargs: {
        input: null,
        context: {},
        recursion_limit: 1,
        stream_mode: [],
        stream_subgraphs: false,
        on_disconnect: 'cancel',
        temporary: true,
      },
    });

    await store.threads.requestCancel(key, run.run_id, 'interrupt');
    await store.filesGone(key);

    for (const name of await store.keys()) expect(await ttlOf(store, name)).toBeGreaterThan(0);
  });
});

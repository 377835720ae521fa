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
import { MAX_RANGES } from './head-log.js';

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
  test('messages replaced in the middle are compacted above the range limit, and every checkpoint still shows its own', async () => {
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

  test('entries that no kept checkpoint shows are freed, and what is shown stays readable', async () => {
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

/** Waits until no event log of the thread is left. */
async function expiry(store: StoreFixture, key: ThreadKey): Promise<void> {
  const runs = await store.threads.listRuns(key, { limit: 100, offset: 0 });
  const logs = runs.map((run) => store.redis.keys.runEvents(key.userId, run.run_id));
  while ((await store.redis.use((client) => client.exists(...logs))) > 0);
}

describe('checkpoints', () => {
  test('the newest are kept, and of the older ones only the base of every run', async () => {
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

  test('a run whose event log is there keeps all of its checkpoints', async () => {
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

  test('the base of a deleted run goes once pruning has passed it', async () => {
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

describe('bytes written per step', () => {
  test('turn 200 of a thread writes what turn 5 wrote', async () => {
    const store = open();
    const key = thread();
    const written: number[] = [];
    // What waits for its write counts too: Redis holds the buffer back while a sync of the file is under way.
    const appendOnlyBytes = async (): Promise<number> => {
      const info = await store.redis.use((client) => client.info('persistence'));
      return Number(/aof_current_size:(\d+)/.exec(info)?.[1]) + Number(/aof_buffer_length:(\d+)/.exec(info)?.[1]);
    };
    for (let turn = 1; turn <= 200; turn += 1) {
      const before = await appendOnlyBytes();
      await store.turn(key, { messages: [human('q'.repeat(500)), ai('a'.repeat(1000))] });
      written[turn] = (await appendOnlyBytes()) - before;
    }
    // A score that two scripts set in the same millisecond is logged once: the most of twenty turns has every write.
    const early = Math.max(...written.slice(5, 25));
    const late = Math.max(...written.slice(181));

    expect((await store.threads.head(key))?.state.messages).toHaveLength(400);
    expect(late).toBeLessThan(1.02 * early);
    expect(late).toBeLessThan(10_000);
  });
});

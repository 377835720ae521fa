import type { StateUpdate } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadHead } from '../ports/run-store.js';
import { ai, type ClaimedRun, human, type StoreFixture, textsOf, thread } from '@caribou/testing';
import { parseCheckpoint } from '../checkpoints/checkpoint-text.js';
import { MAX_RANGES } from '../checkpoints/head-log.js';
import { useOpenStores } from '../testing/open-stores.js';

const open = useOpenStores();

/** Commits updates one after the other. */
async function steps(store: StoreFixture, claimed: ClaimedRun, updates: readonly StateUpdate[]): Promise<ThreadHead> {
  let { head } = claimed;
  for (const update of updates) head = (await store.step({ lease: claimed.lease, head }, update)).head;
  return head;
}

const countOf = (store: StoreFixture, key: string): Promise<number> => store.redis.use((client) => client.hlen(key));

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
    const texts = Object.entries(await store.redis.use((client) => client.hgetall(checkpoints)));
    const ranges = texts.map(([id, text]) => parseCheckpoint(id, text).ranges.length);
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

  test('are as many as there may be, whatever the thread counts: nothing, too few or too many', async () => {
    const store = open({ keptCheckpoints: 6, eventsTtlMs: 1 });
    const key = thread();
    const { record } = store.redis.keys.thread(key);
    const sizedOf = async () => (await store.redis.use((client) => client.hget(record, 'sized'))) ?? '';
    const counts = async (points: string | null) => {
      const sized = (await sizedOf()).replace(/\d+$/, points ?? '');
      await store.redis.use((client) =>
        points === null ? client.hdel(record, 'sized') : client.hset(record, 'sized', sized),
      );
    };
    const sizes: number[] = [];
    for (const points of ['0', null, '', '2', '1000', '0']) {
      for (let turn = 0; turn < 8; turn += 1) {
        await store.turn(key, { messages: [human(`${turn}`)] });
        await expiry(store, key);
        // The bases of runs stay until their runs are deleted.
        for (const { run_id: runId } of await store.threads.listRuns(key, { limit: 9, offset: 0 }))
          await store.threads.deleteRun(key, runId);
      }
      sizes.push((await store.threads.history(key, { limit: 1000 })).length);
      expect(await sizedOf()).toMatch(new RegExp(`:${sizes.at(-1)}$`));
      await counts(points);
    }

    expect(Math.max(...sizes)).toBeLessThanOrEqual(7);
    expect(Math.min(...sizes)).toBe(6);
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

  test('of a run with many checkpoints are pruned within a few commits after the deadline of its log', async () => {
    const store = open({ keptCheckpoints: 5, eventsTtlMs: 1 });
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await steps(
      store,
      claimed,
      Array.from({ length: 80 }, (_, index) => ({ title: `${index}` })),
    );
    await store.finish(claimed);
    for (let turn = 0; turn < 5; turn += 1) {
      await expiry(store, key);
      await store.turn(key, { messages: [human(`${turn}`)] });
    }

    const left = await store.threads.history(key, { limit: 100 });
    expect(left.length).toBeLessThanOrEqual(10);
    expect(left.length).toBeGreaterThanOrEqual(5);
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

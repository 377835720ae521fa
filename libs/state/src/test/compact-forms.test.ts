import { newId, type StateUpdate, type ToolMessage } from '@caribou/contracts';
import { applyUpdate, type ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisMemoryJobs } from '../memory/jobs/memory-jobs.js';
import { redisRunStore } from '../runs/run-store.js';
import { redisThreadStore } from '../thread-store.js';
import { resultText } from '../testing/tool-results.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const result = (number: number, bytes: number): ToolMessage => ({
  type: 'tool',
  id: `tool:call_${newId()}`,
  content: resultText(number, bytes),
  name: 'read_file',
  tool_call_id: `call_${number}`,
  status: 'success',
  additional_kwargs: {},
  response_metadata: {},
});

/** Executes a turn by a runner that writes the compact forms, or those of earlier versions. */
async function turnBy(compact: boolean, key: ThreadKey, update: StateUpdate): Promise<void> {
  const runs = redisRunStore(store.redis, { compact });
  await store.admit(key);
  const claimed = await runs.claim(key, newId());
  if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
  const { lease, head } = claimed;
  const state = applyUpdate(head.state, update);
  await runs.commit(lease, { head, state, next: [], source: 'loop', step: 1, events: [] });
  await runs.finish(lease, { status: 'success', events: [] });
}

/** How many messages of the thread's log are compressed. */
async function countCompressed(key: ThreadKey): Promise<number> {
  const values = await store.redis.use((client) => client.hvalsBuffer(store.redis.keys.thread(key).log));
  return values.filter((value) => value[0] === 0xff).length;
}

/** The channels of which the thread record has a copy. */
async function listedFields(key: ThreadKey): Promise<readonly string[]> {
  const fields = await store.redis.use((client) => client.hkeys(store.redis.keys.thread(key).record));
  return fields.filter((field) => field.startsWith('v:'));
}

describe('messages in the log of a thread', () => {
  test('are read in the forms of earlier versions and compressed, side by side', async () => {
    const key = thread();
    const [before, after, late] = [result(0, 2_048), result(1, 2_048), result(2, 2_048)];
    await turnBy(false, key, { messages: [human('hello'), before] });
    expect(await countCompressed(key)).toBe(0);

    await turnBy(true, key, { messages: [after, ai('bye')] });
    await turnBy(false, key, { messages: [late] });

    expect(await countCompressed(key)).toBe(1);
    const head = await store.threads.head(key);
    expect(head?.state.messages.slice(1)).toEqual([before, after, expect.objectContaining({ content: 'bye' }), late]);
    const { rows } = await store.threads.readFeed(key, { limit: 10 });
    expect(rows.map(({ message }) => message)).toEqual(head?.state.messages);
    expect((await store.threads.findFeedRow(key, after.id))?.message).toEqual(after);
    const jobs = redisMemoryJobs(store.redis, { debounceMs: 1, leaseMs: 1_000 });
    const { messages } = await jobs.messages(key, { after: 0, to: 10 });
    expect(messages.map(({ message }) => message)).toEqual(head?.state.messages);
  });

  test('count with the size of their text, for limits and for pages', async () => {
    const [key, plain] = [thread(), thread()];
    const large = [1, 2, 3, 4, 5].map((number) => result(number, 1_200_000));
    const bytes = large.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
    await turnBy(true, key, { messages: large });
    await turnBy(false, plain, { messages: large });

    expect(await countCompressed(key)).toBe(5);
    const [page, plainPage] = await Promise.all(
      [key, plain].map((each) => store.threads.readFeed(each, { limit: 10 })),
    );
    expect(page?.rows).toHaveLength(plainPage?.rows.length ?? 0);
    expect(page?.nextBefore).not.toBeNull();
    const limited = redisThreadStore(store.redis, { maxStateBytes: bytes + 100_000 });
    for (const each of [key, plain]) {
      await expect(limited.updateState(each, { messages: [result(6, 200_000)] })).rejects.toThrow('would be larger');
      await limited.updateState(each, { messages: [result(6, 20_000)] });
    }
  });
});

describe('the context of a thread', () => {
  const facts = Array.from({ length: 40 }, (_, at) => `- fact number ${at}`).join('\n');
  const context = { text: `<memory>${facts}</memory>`, notes: [], shown: { memory: facts } };

  test.each([true, false])('is in the log alone, with compact forms: %s', async (compact) => {
    const key = thread();
    await turnBy(compact, key, { messages: [human('hello')], title: 'A title', thread_context: context });

    expect(await countCompressed(key)).toBe(compact ? 1 : 0);
    expect((await store.threads.head(key))?.state).toMatchObject({ title: 'A title', thread_context: context });
    expect(await listedFields(key)).toEqual(['v:title']);
  });

  test('goes with a copy of the thread, and with an older checkpoint of it', async () => {
    const [key, copy, old] = [thread(), thread(), thread()];
    await turnBy(true, key, { messages: [human('hello')], thread_context: context });
    const checkpointId = (await store.threads.head(key))?.checkpointId ?? '';
    await turnBy(true, key, { thread_context: { ...context, notes: [{ before: 'm', text: 'later' }] } });

    await store.threads.copyThread(key, copy.threadId);
    await store.threads.copyThread(key, old.threadId, { at: { checkpointId, lastSeq: 1 } });

    expect((await store.threads.head(copy))?.state.thread_context?.notes).toHaveLength(1);
    expect((await store.threads.head(old))?.state.thread_context).toEqual(context);
    for (const each of [copy, old]) expect(await listedFields(each)).toEqual([]);
  });
});

describe('the counters of middlewares', () => {
  const guards = {
    'loop-detection': { sets: Array.from({ length: 20 }, (_, at) => `hash-${at}`), run: { run_id: 'r' } },
  };

  test.each([true, false])('are in the log alone, with compact forms: %s', async (compact) => {
    const key = thread();
    await turnBy(compact, key, { messages: [human('hello')], title: 'A title', guards });

    expect(await countCompressed(key)).toBe(compact ? 1 : 0);
    expect((await store.threads.head(key))?.state).toMatchObject({ title: 'A title', guards });
    expect(await listedFields(key)).toEqual(['v:title']);
  });

  test('are neither read from nor left in the record of a thread of an earlier version', async () => {
    const key = thread();
    await turnBy(true, key, { messages: [human('hello')], title: 'A title', guards });
    const { record } = store.redis.keys.thread(key);
    await store.redis.use((client) => client.hset(record, 'v:guards', JSON.stringify(guards)));

    expect((await store.threads.getThread(key)).values).toEqual({ title: 'A title' });
    await turnBy(true, key, { guards: { 'loop-detection': { sets: [] } } });

    expect(await listedFields(key)).toEqual(['v:title']);
  });
});

describe('checkpoints', () => {
  test('are read in the form with names and in the compact one, side by side', async () => {
    const [key, copy] = [thread(), thread()];
    for (const compact of [false, true, true, false]) await turnBy(compact, key, { messages: [human('hello')] });

    const history = await store.threads.history(key, { limit: 10 });
    const ids = await store.redis.use((client) => client.zrevrange(store.redis.keys.thread(key).order, 0, -1));
    expect(history.map(({ checkpointId }) => checkpointId)).toEqual(ids);
    expect(history.map(({ parentId }) => parentId)).toEqual([...ids.slice(1), null]);
    expect(history.map(({ state }) => state.messages.length)).toEqual([4, 3, 2, 1]);
    const runIds = history.map(({ metadata }) => metadata.run_id);
    const found = await store.threads.history(key, { limit: 10, metadata: { run_id: runIds[1] ?? '' } });
    expect(found).toEqual([history[1]]);
    for (const { createdAt, checkpointId } of history)
      expect(new Date(createdAt).getTime()).toBe(Number.parseInt(checkpointId.replace('-', '').slice(0, 12), 16));

    // The ids of the copy's own checkpoints differ from those that it was made with.
    await store.threads.copyThread(key, copy.threadId);
    await turnBy(true, copy, { messages: [human('more')] });
    const [newest] = await store.threads.history(copy, { limit: 1 });
    expect(newest?.parentId).toBe(ids[0]);
    expect(newest?.state.messages).toHaveLength(5);
  });

  test('have the id and the time that the event of their commit names', async () => {
    const key = thread();
    const { run } = await store.turn(key, { messages: [human('hello')] });

    const { events } = await store.events.read(key.userId, run.run_id, { after: 0, limit: 10 });
    const written = events.flatMap(({ event }) => (event.kind === 'checkpoint' ? [event] : []));
    const [newest] = await store.threads.history(key, { limit: 1 });
    expect(written.at(-1)).toMatchObject({ checkpoint_id: newest?.checkpointId, created_at: newest?.createdAt });
  });
});

describe('rows of the feed', () => {
  test('name their run and time in both forms, and go with a rolled-back run', async () => {
    const key = thread();
    const written = new Date();
    await turnBy(false, key, { messages: [human('old'), ai('old')] });
    await turnBy(true, key, { messages: [human('new'), ai('new', 'm1'), ai('new')] });
    const { rows } = await store.threads.readFeed(key, { limit: 10 });
    const runs = rows.map(({ runId }) => runId);
    expect(new Set(runs).size).toBe(2);
    expect(runs.slice(2)).toEqual([runs[2], runs[2], runs[2]]);
    for (const { createdAt } of rows) expect(Math.abs(Date.parse(createdAt) - written.getTime())).toBeLessThan(60_000);
    const ids = rows.map(({ message }) => message.id);
    expect([...(await store.threads.runsOfMessages(key, ids))]).toEqual(ids.map((id, index) => [id, runs[index]]));
    expect(await store.threads.findFeedRow(key, 'm1')).toEqual(rows[3]);
    expect((await store.threads.readFeed(key, { limit: 10, runId: runs[2] ?? '' })).rows).toEqual(rows.slice(2));

    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('undone'), ai('revised', 'm1'), ai('undone')] });
    await store.finish(claimed, { rollback: true });
    expect((await store.threads.readFeed(key, { limit: 10 })).rows).toEqual(rows);
  });
});

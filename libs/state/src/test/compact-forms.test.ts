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

import { randomUUID } from 'node:crypto';
import { answeredThread, ASSISTANT, contentsOf, type Entry, newThread, readUntil, saying, works } from './entry.js';

const group = (): string => randomUUID();

/** The calls of `client.threads`. */
export const threadCalls: readonly Entry[] = [
  works('threads.create', '`ifExists` too', async ({ client }) => {
    const threadId = randomUUID();
    expect(await client.threads.create({ threadId, metadata: { a: 1 }, graphId: ASSISTANT })).toMatchObject({
      thread_id: threadId,
      metadata: { a: 1, graph_id: ASSISTANT },
    });
    expect(await client.threads.create({ threadId, ifExists: 'do_nothing' })).toMatchObject({ thread_id: threadId });
  }),
  works('threads.get', '`include: ["ttl"]` shows `ttl: null`: threads stay until they are deleted', async (proof) => {
    const threadId = await newThread(proof);
    expect(await proof.client.threads.get(threadId, { include: ['ttl'] })).toMatchObject({
      thread_id: threadId,
      ttl: null,
    });
  }),
  works('threads.copy', '', async (proof) => {
    const threadId = await answeredThread(proof);
    const copy = (await proof.client.threads.copy(threadId)) as unknown as { thread_id: string };
    expect(copy.thread_id).not.toBe(threadId);
    expect(contentsOf((await proof.client.threads.getState(copy.thread_id)).values)).toHaveLength(2);
  }),
  works('threads.update', 'merges metadata, key by key; `returnMinimal` too', async (proof) => {
    const threadId = await newThread(proof);
    await proof.client.threads.update(threadId, { metadata: { a: 1 }, returnMinimal: true });
    expect(await proof.client.threads.update(threadId, { metadata: { b: 2 } })).toMatchObject({
      metadata: { a: 1, b: 2 },
    });
  }),
  works('threads.delete', '409 while a run is in flight', async (proof) => {
    const threadId = await newThread(proof);
    await proof.client.threads.delete(threadId);
    await expect(proof.client.threads.get(threadId)).rejects.toMatchObject({ status: 404 });
  }),
  works(
    'threads.prune',
    '`delete`, or `keep_latest`: all checkpoints but the newest go. Busy and unknown threads do not count',
    async (proof) => {
      const { client } = proof;
      const [gone, kept] = [await newThread(proof), await answeredThread(proof)];
      expect(await client.threads.prune([gone, randomUUID()])).toEqual({ pruned_count: 1 });
      expect(await client.threads.prune([kept], { strategy: 'keep_latest' })).toEqual({ pruned_count: 1 });
      expect(await client.threads.getHistory(kept)).toHaveLength(1);
    },
  ),
  works('threads.search', 'filters, `ids`, `select`, sorting, pages', async ({ client }) => {
    const metadata = { group: group() };
    const { thread_id } = await client.threads.create({ metadata });
    expect(await client.threads.search({ metadata, select: ['thread_id'], sortBy: 'created_at' })).toEqual([
      { thread_id },
    ]);
  }),
  works('threads.count', '', async ({ client }) => {
    const metadata = { group: group() };
    await client.threads.create({ metadata });
    expect(await client.threads.count({ metadata, status: 'idle' })).toBe(1);
  }),
  works(
    'threads.getState',
    'of the head or a checkpoint; `select`; `subgraphs` changes nothing, as there are none',
    async (proof) => {
      const { client } = proof;
      const threadId = await answeredThread(proof);
      const { checkpoint } = await client.threads.getState(threadId, undefined, { subgraphs: true });
      for (const at of [checkpoint, checkpoint.checkpoint_id ?? ''])
        expect(
          Object.keys(await client.threads.getState(threadId, at, { select: ['next', 'values.messages'] })).sort(),
        ).toEqual(['next', 'values']);
    },
  ),
  works(
    'threads.updateState',
    '`title`, `todos`, `artifacts` and messages, see [below](#editing-messages); `asNode`, `checkpoint`',
    async (proof) => {
      const { client } = proof;
      const threadId = await newThread(proof);
      await client.threads.updateState(threadId, {
        values: { title: 'T', messages: [{ type: 'human', content: 'hi' }] },
        asNode: '__start__',
      });
      expect(await client.threads.getState(threadId)).toMatchObject({
        values: { title: 'T' },
        next: ['model_request'],
      });
    },
  ),
  works('threads.patchState', 'merges the metadata of the thread', async (proof) => {
    const threadId = await newThread(proof);
    await proof.client.threads.patchState(threadId, { noted: 1 });
    expect(await proof.client.threads.get(threadId)).toMatchObject({ metadata: { noted: 1 } });
  }),
  works('threads.getHistory', '`before`, `metadata`, `select`; ends early when a page gets large', async (proof) => {
    const threadId = await answeredThread(proof);
    const [head] = await proof.client.threads.getHistory(threadId, { limit: 5, select: ['checkpoint'] });
    const before = { configurable: { checkpoint_id: head?.checkpoint.checkpoint_id } };
    const older = await proof.client.threads.getHistory(threadId, { before });
    expect(older.length).toBeGreaterThan(0);
    expect(older.map(({ checkpoint }) => checkpoint.checkpoint_id)).not.toContain(head?.checkpoint.checkpoint_id);
  }),
  works('threads.joinStream', 'follows the runs as they start, [see below](#streams-of-threads)', async (proof) => {
    const { client } = proof;
    const threadId = await newThread(proof);
    const { run_id } = await client.runs.create(threadId, ASSISTANT, {
      ...saying('#delay 200\n#say One.'),
      streamMode: ['values'],
    });
    const parts = await readUntil(client.threads.joinStream(threadId), ({ event }) => event === 'run_done');
    expect(parts.map(({ event }) => event)).toEqual(expect.arrayContaining(['metadata', 'values', 'run_done']));
    expect(parts.at(-1)?.data).toEqual({ run_id, thread_id: threadId, status: 'success' });
    await client.runs.wait(threadId, ASSISTANT, saying('#say Two.'));
    const rest = await readUntil(
      client.threads.joinStream(threadId, { lastEventId: parts.at(-1)?.id ?? '', streamMode: ['lifecycle'] }),
      ({ event }) => event === 'run_done',
    );
    expect(rest.map(({ event }) => event)).toEqual(['metadata', 'run_done']);
  }),
  works(
    'threads.stream',
    'the [Agent Streaming Protocol](streaming-protocol.md), by server-sent events and WebSocket',
    async (proof) => {
      const thread = proof.client.threads.stream({ assistantId: ASSISTANT });
      try {
        const { run_id: runId } = await thread.run.start(saying());
        await proof.client.runs.join(thread.threadId, runId ?? '');
        const { values } = await proof.client.threads.getState<{ messages: { content: string }[] }>(thread.threadId);
        expect(values.messages.at(-1)?.content).toBe('Hello.');
      } finally {
        await thread.close();
      }
    },
  ),
];

import { ConflictError, FencedError, type HumanMessage, omitUndefined } from '@caribou/contracts';
import type { FileGenerations, FileHead, FileTrees, ThreadKey } from '@caribou/core';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisSandboxRegistry } from '../executions/sandbox-registry.js';
import { createRedis } from '../redis/connection.js';
import { redisThreadStore } from '../thread-store.js';
import { redisFileGenerations } from './file-generations.js';

let store: StoreFixture;
let files: FileGenerations;

useStore((opened) => {
  store = opened;
  files = redisFileGenerations(store.redis);
});

const SIZE = { bytes: 10, files: 1 };
const manager = { managerId: 'm1', machine: 'one' };

/** Commits on the head that there is, and returns the new one. */
async function put(key: ThreadKey, trees: FileTrees, more = {}): Promise<FileHead> {
  const { committed, head } = await files.commit(key, { expected: await files.head(key), trees, ...SIZE, ...more });
  expect(committed).toBe(true);
  if (head === null) throw new Error('the commit left no head');
  return head;
}

/** Adds a message to the head, or to an older checkpoint, and returns the id of the new one. */
async function say(key: ThreadKey, message: HumanMessage, checkpointId?: string): Promise<string> {
  const view = await store.threads.updateState(key, { messages: [message] }, omitUndefined({ checkpointId }));
  return view.checkpointId ?? '';
}

async function boundThread(): Promise<ThreadKey> {
  const key = thread();
  await store.admit(key);
  const { lease } = await store.claim(key);
  const registry = redisSandboxRegistry(store.redis);
  await registry.renewManager('m1', 60_000);
  await registry.bind(key, { managerId: 'm1', sandboxId: 'box', driver: 'docker', epoch: lease.epoch });
  return key;
}

async function emptyThread(): Promise<ThreadKey> {
  const key = thread();
  await store.threads.createThread(key, { metadata: {} });
  return key;
}

describe(redisFileGenerations, () => {
  test('commits follow each other; one on an older head changes nothing and gets the head', async () => {
    const key = thread();
    expect(await files.head(key)).toBeNull();
    const first = await put(key, { work: 'w1' });
    expect(first).toMatchObject({ generation: 1, trees: { work: 'w1' }, bytes: 10, files: 1, resetAt: 0 });
    const second = await put(key, { work: 'w1', uploads: 'u1' });
    expect(second).toMatchObject({ home: first.home, generation: 2, trees: { work: 'w1', uploads: 'u1' } });

    const late = await files.commit(key, { expected: first, trees: { work: 'w2' }, ...SIZE });
    expect(late).toEqual({ committed: false, head: second });
    expect(await files.commit(key, { expected: null, trees: { work: 'w2' }, ...SIZE })).toEqual(late);
    expect(await files.threadsWithFiles(key.userId, 0)).toEqual([key.threadId]);
    expect(await files.threadsWithFiles(key.userId, 1)).toEqual([]);
  });

  test('says whether checkpoints without a generation had no files', async () => {
    const [fresh, imported] = [thread(), thread()];
    expect(await files.isComplete(fresh)).toBe(true);
    await put(fresh, { work: 'w1' });
    await put(imported, { work: 'w1' }, { isImport: true });
    expect([await files.isComplete(fresh), await files.isComplete(imported)]).toEqual([true, false]);
  });

  test('the first and last checkpoint of a run are found without their states', async () => {
    const key = thread();
    const { run, head } = await store.turn(key, { messages: [human('one')] });
    const other = await say(key, human('two'));
    const found = await store.threads.checkpointsOfRun(key, run.run_id);
    expect(found).toMatchObject({ last: head.checkpointId });
    expect(found?.first.checkpointId).not.toBe(other);
    expect(await store.threads.checkpointsOfRun(key, 'none')).toBeNull();
  });

  test('of two commits on one head, exactly one is written', async () => {
    const key = thread();
    const head = await put(key, { work: 'w1' });
    const both = await Promise.all(
      ['a', 'b'].map((work) => files.commit(key, { expected: head, trees: { work }, ...SIZE })),
    );
    expect(both.filter(({ committed }) => committed)).toHaveLength(1);
    expect(new Set(both.map(({ head: after }) => JSON.stringify(after))).size).toBe(1);
  });

  test('a manager commits only while the sandbox is bound to it', async () => {
    const key = await boundThread();
    await put(key, { work: 'w1' }, { writer: manager });
    const other = { managerId: 'm2', machine: 'two' };
    const expected = await files.head(key);
    await expect(files.commit(key, { expected, trees: { work: 'w2' }, ...SIZE, writer: other })).rejects.toThrow(
      FencedError,
    );
    await expect(files.noteUnpublished(key, other)).rejects.toThrow(FencedError);
    expect(await files.head(key)).toEqual(expected);
  });

  test('says since when changes are not stored, until a whole commit of a manager', async () => {
    const key = await boundThread();
    await files.noteUnpublished(key, manager);
    await put(key, { work: 'w1' }, { writer: manager, isPartial: true });
    const { unpublished } = (await files.head(key)) ?? {};
    expect(unpublished).toMatchObject(manager);
    await files.noteUnpublished(key, manager);
    expect((await put(key, { uploads: 'u1' })).unpublished).toEqual(unpublished);
    expect((await put(key, { work: 'w2' }, { writer: manager })).unpublished).toBeUndefined();
  });

  test('a checkpoint has the files of its time, and a fork from it begins with them; uploads stay', async () => {
    const key = await emptyThread();
    const before = await say(key, human('1'));
    await put(key, { work: 'w1', uploads: 'u1' });
    const first = await say(key, human('2'));
    await put(key, { work: 'w2', uploads: 'u2' });
    await put(key, { work: 'w3', uploads: 'u2' });
    const third = await say(key, human('3'));

    expect(await files.atCheckpoint(key, before)).toBeNull();
    expect(await files.atCheckpoint(key, first)).toEqual({ generation: 1, trees: { work: 'w1', uploads: 'u1' } });
    expect(await files.atCheckpoint(key, third)).toEqual({ generation: 3, trees: { work: 'w3', uploads: 'u2' } });

    const fork = await say(key, human('2b'), first);
    const reset = { generation: 4, resetAt: 4, trees: { work: 'w1', uploads: 'u2' } };
    expect(await files.head(key)).toMatchObject(reset);
    expect(await files.atCheckpoint(key, fork)).toMatchObject({ generation: 4 });
    await say(key, human('0b'), before);
    expect(await files.head(key)).toMatchObject({ generation: 5, trees: { uploads: 'u2' } });
    expect((await files.head(key))?.trees.work).toBeUndefined();
    // The second generation was replaced before a checkpoint named it.
    expect([...(await files.retained(key))].sort()).toEqual(['u1', 'u2', 'w1', 'w3']);
  });

  test('files that are older than their record stay when the thread goes back', async () => {
    const key = await emptyThread();
    const before = await say(key, human('1'));
    await put(key, { work: 'w1' }, { isImport: true });
    await say(key, human('2'));
    await say(key, human('1b'), before);
    expect(await files.head(key)).toMatchObject({ generation: 1, trees: { work: 'w1' } });
  });

  test('files stay when the thread goes back to a checkpoint of a process that noted none', async () => {
    const key = await emptyThread();
    await put(key, { work: 'w1' });
    const other = createRedis({ url: store.url, keyPrefix: store.prefix });
    try {
      const view = await redisThreadStore(other).updateState(key, { messages: [human('1')] });
      await say(key, human('2'));
      expect(await files.atCheckpoint(key, view.checkpointId ?? '')).toBeNull();
      await say(key, human('1b'), view.checkpointId ?? '');
      expect(await files.head(key)).toMatchObject({ generation: 1, trees: { work: 'w1' } });
    } finally {
      await other.close();
    }
  });

  test('a copy has the files of a checkpoint under a home of its own', async () => {
    const key = await emptyThread();
    await put(key, { work: 'w1' });
    const first = await say(key, human('1'));
    const source = await put(key, { work: 'w2', uploads: 'u1' });
    const second = await say(key, human('2'));
    const [early, whole] = [thread(key.userId), thread(key.userId)];

    const copied = await files.copy(key, early, first);
    expect(copied).toMatchObject({ trees: { work: 'w1' }, resetAt: 0 });
    expect(copied?.home).not.toBe(source.home);
    expect(await files.atCheckpoint(early, first)).toMatchObject({ trees: { work: 'w1' } });
    expect(await files.atCheckpoint(early, second)).toBeNull();
    expect(await files.retained(early)).toEqual(['w1']);

    expect(await files.copy(key, whole)).toMatchObject({ trees: { work: 'w2', uploads: 'u1' } });
    await expect(files.copy(key, whole)).rejects.toThrow(ConflictError);
    expect(await files.copy(thread(key.userId), thread(key.userId))).toBeNull();
  });

  test('files go back at rest only', async () => {
    const key = await emptyThread();
    await put(key, { work: 'w1' });
    const first = await say(key, human('1'));
    await put(key, { work: 'w2' });
    await store.admit(key);
    await expect(files.restore(key, first)).rejects.toThrow(ConflictError);
    const idle = thread();
    expect(await files.restore(idle, first)).toBeNull();
  });

  test('a rollback takes the work of the run back', async () => {
    const key = thread();
    await put(key, { work: 'w1' });
    await store.turn(key, { messages: [human('1')] });
    await store.admit(key);
    const second = await store.claim(key);
    await put(key, { work: 'w2' });
    await store.finish(second, { rollback: true });
    expect(await files.head(key)).toMatchObject({ trees: { work: 'w1' }, resetAt: 3 });
  });

  test('a deleted thread has no files, and the next one of its id another home', async () => {
    const key = await emptyThread();
    const { home } = await put(key, { work: 'w1' });
    await store.threads.deleteThread(key);
    expect(await files.head(key)).toBeNull();
    expect(await files.threadsWithFiles(key.userId, 0)).toEqual([]);
    await expect(files.commit(key, { expected: null, trees: { work: 'w2' }, ...SIZE })).rejects.toThrow(ConflictError);
    expect(home).not.toBe('');
  });
});

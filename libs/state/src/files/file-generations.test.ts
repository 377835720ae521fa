import { ConflictError, FencedError, newId } from '@caribou/contracts';
import type { FileHead, ThreadKey } from '@caribou/core';
import { admission, human, thread } from '@caribou/testing';
import { redisSandboxRegistry } from '../executions/sandbox-registry.js';
import { createRedis } from '../redis/connection.js';
import { GenerationsFixture, manager, SIZE } from '../testing/generations-fixture.js';
import { redisThreadStore } from '../thread-store.js';
import { redisFileGenerations } from './file-generations.js';

const fixture = new GenerationsFixture();

const omit = (head: FileHead | null, name: keyof FileHead) =>
  Object.fromEntries(Object.entries(head ?? {}).filter(([key]) => key !== name));

describe(redisFileGenerations, () => {
  test('commits follow each other; one on an older head changes nothing and gets the head', async () => {
    const key = thread();
    expect(await fixture.files.head(key)).toBeNull();
    const first = await fixture.put(key, { work: 'w1' });
    expect(first).toMatchObject({ generation: 1, trees: { work: 'w1' }, bytes: 10, files: 1, resetAt: 0 });
    const second = await fixture.put(key, { work: 'w1', uploads: 'u1' });
    expect(second).toMatchObject({ home: first.home, generation: 2, trees: { work: 'w1', uploads: 'u1' } });

    const late = await fixture.files.commit(key, { expected: first, trees: { work: 'w2' }, ...SIZE });
    expect(late).toEqual({ committed: false, head: second });
    expect(await fixture.files.commit(key, { expected: null, trees: { work: 'w2' }, ...SIZE })).toEqual(late);
    expect(await fixture.files.threadsWithFiles(key.userId, 0)).toEqual([key.threadId]);
    expect(await fixture.files.threadsWithFiles(key.userId, 1)).toEqual([]);
  });

  test('the first and last checkpoint of a run are found without their states', async () => {
    const key = thread();
    const { run, head } = await fixture.store.turn(key, { messages: [human('one')] });
    const other = await fixture.say(key, human('two'));
    const found = await fixture.store.threads.checkpointsOfRun(key, run.run_id);
    expect(found).toMatchObject({ last: head.checkpointId });
    expect(found?.first.checkpointId).not.toBe(other);
    expect(await fixture.store.threads.checkpointsOfRun(key, 'none')).toBeNull();
  });

  test('of two commits on one head, exactly one is written', async () => {
    const key = thread();
    const head = await fixture.put(key, { work: 'w1' });
    const both = await Promise.all(
      ['a', 'b'].map((work) => fixture.files.commit(key, { expected: head, trees: { work }, ...SIZE })),
    );
    expect(both.filter(({ committed }) => committed)).toHaveLength(1);
    expect(new Set(both.map(({ head: after }) => JSON.stringify(after))).size).toBe(1);
  });

  test('a manager commits only while the sandbox is bound to it', async () => {
    const key = await fixture.boundThread();
    await fixture.put(key, { work: 'w1' }, { writer: manager });
    const other = { managerId: 'm2', machine: 'two' };
    const expected = await fixture.files.head(key);
    await expect(
      fixture.files.commit(key, { expected, trees: { work: 'w2' }, ...SIZE, writer: other }),
    ).rejects.toThrow(FencedError);
    await expect(fixture.files.noteUnpublished(key, other)).rejects.toThrow(FencedError);
    expect(await fixture.files.head(key)).toEqual(expected);
  });

  test('says since when changes are not stored, until a whole commit of a manager', async () => {
    const key = await fixture.boundThread();
    await fixture.files.noteUnpublished(key, manager);
    await fixture.put(key, { work: 'w1' }, { writer: manager, isPartial: true });
    const { unpublished } = (await fixture.files.head(key)) ?? {};
    expect(unpublished).toMatchObject(manager);
    await fixture.files.noteUnpublished(key, manager);
    expect((await fixture.put(key, { uploads: 'u1' })).unpublished).toEqual(unpublished);
    expect((await fixture.put(key, { work: 'w2' }, { writer: manager })).unpublished).toBeUndefined();
  });

  test('changes of a thread that has no files yet are noted in a first generation without files', async () => {
    const key = await fixture.boundThread();
    await fixture.files.noteUnpublished(key, manager);
    const noted = await fixture.files.head(key);
    expect(noted).toMatchObject({ generation: 1, trees: {}, bytes: 0, files: 0, unpublished: manager });
    expect(await fixture.files.threadsWithFiles(key.userId, 0)).toContain(key.threadId);
    expect(await fixture.put(key, { work: 'w1' }, { writer: manager })).toEqual({
      ...omit(noted, 'unpublished'),
      ...SIZE,
      generation: 2,
      trees: { work: 'w1' },
      machine: 'one',
    });
  });

  test('changes that are not stored are seen in a thread without files, and listed for the machine', async () => {
    const key = await fixture.boundThread();
    const machine = newId();
    await fixture.files.noteUnpublished(key, { ...manager, machine });
    expect(await fixture.files.head(key)).toMatchObject({
      generation: 1,
      trees: {},
      files: 0,
      unpublished: { machine },
    });
    expect(await fixture.files.unpublishedOf(machine)).toEqual([key]);
    await fixture.files.forgetUnpublished(key, machine);
    expect(await fixture.files.unpublishedOf(machine)).toEqual([key]);
    await fixture.put(key, { work: 'w1' }, { writer: { ...manager, machine } });
    await fixture.files.forgetUnpublished(key, machine);
    expect(await fixture.files.unpublishedOf(machine)).toEqual([]);
  });

  test('changes of another machine are given up only by the manager that takes the files over', async () => {
    const key = await fixture.boundThread();
    await fixture.files.noteUnpublished(key, manager);
    const { unpublished } = (await fixture.files.head(key)) ?? {};
    await redisSandboxRegistry(fixture.store.redis).releaseManager('m1');
    const writer = { managerId: 'm2', machine: 'two' };
    const proposal = { managerId: 'm2', sandboxId: 'box', driver: 'docker' } as const;
    expect(await redisSandboxRegistry(fixture.store.redis).bind(key, proposal)).toMatchObject({ managerId: 'm2' });
    await fixture.files.noteUnpublished(key, writer);
    expect((await fixture.put(key, { work: 'w1' }, { writer })).unpublished).toEqual(unpublished);
    const taken = await fixture.put(key, { work: 'w1' }, { writer, takesOver: true });
    expect(taken).toMatchObject({ generation: 3, takenAt: 3, machine: 'two', lostSinceMs: unpublished?.sinceMs });
    expect(taken.unpublished).toBeUndefined();
  });

  test('that changes are lost stays known until the manager of the thread has said exactly that', async () => {
    const key = await fixture.boundThread();
    await fixture.files.noteUnpublished(key, manager);
    const writer = { managerId: 'm2', machine: 'two' };
    const registry = redisSandboxRegistry(fixture.store.redis);
    await registry.releaseManager('m1');
    await registry.bind(key, { managerId: 'm2', sandboxId: 'box', driver: 'docker' });
    const { lostSinceMs = 0 } = await fixture.put(key, { work: 'w1' }, { writer, takesOver: true });
    // A later loss adds nothing: the text is about changes since the first one. Neither do commits of others.
    await fixture.files.noteUnpublished(key, writer);
    await fixture.put(key, { work: 'w2' }, { writer: { ...writer, machine: 'three' }, takesOver: true });
    await fixture.put(key, { work: 'w2', uploads: 'u1' });
    const known = async () => (await fixture.files.head(key))?.lostSinceMs;
    expect(await known()).toBe(lostSinceMs);

    await fixture.files.forgetLoss(key, { managerId: 'm1', lostSinceMs });
    await fixture.files.forgetLoss(key, { managerId: 'm2', lostSinceMs: lostSinceMs + 1 });
    expect(await known()).toBe(lostSinceMs);
    await fixture.files.forgetLoss(key, { managerId: 'm2', lostSinceMs });
    expect(await known()).toBeUndefined();
  });

  test('a checkpoint of while changes were not stored gets the files that have them', async () => {
    const key = await fixture.emptyThread();
    await redisSandboxRegistry(fixture.store.redis).bind(key, { managerId: 'm1', sandboxId: 'box', driver: 'docker' });
    await fixture.put(key, { work: 'w1' }, { writer: manager });
    await fixture.files.noteUnpublished(key, manager);
    const first = await fixture.say(key, human('1'));
    await fixture.say(key, human('2'));
    // What the first checkpoint had is not stored yet: nothing is taken back.
    await fixture.say(key, human('1b'), first);
    expect(await fixture.files.head(key)).toMatchObject({ resetAt: 0, unpublished: manager });
    const { generation } = await fixture.put(key, { work: 'w2' }, { writer: manager });
    expect(await fixture.files.atCheckpoint(key, first)).toEqual({ generation, trees: { work: 'w2' } });
    await fixture.put(key, { work: 'w3' }, { writer: manager });
    await fixture.say(key, human('1c'), first);
    expect(await fixture.files.head(key)).toMatchObject({ trees: { work: 'w2' } });
  });

  test('a checkpoint has the files of its time, and a fork from it begins with them; uploads stay', async () => {
    const key = await fixture.emptyThread();
    const before = await fixture.say(key, human('1'));
    await fixture.put(key, { work: 'w1', uploads: 'u1' });
    const first = await fixture.say(key, human('2'));
    await fixture.put(key, { work: 'w2', uploads: 'u2' });
    await fixture.put(key, { work: 'w3', uploads: 'u2' });
    const third = await fixture.say(key, human('3'));

    expect(await fixture.files.atCheckpoint(key, before)).toBe('none');
    expect(await fixture.files.atCheckpoint(key, first)).toEqual({
      generation: 1,
      trees: { work: 'w1', uploads: 'u1' },
    });
    expect(await fixture.files.atCheckpoint(key, third)).toEqual({
      generation: 3,
      trees: { work: 'w3', uploads: 'u2' },
    });

    const fork = await fixture.say(key, human('2b'), first);
    const reset = { generation: 4, resetAt: 4, trees: { work: 'w1', uploads: 'u2' } };
    expect(await fixture.files.head(key)).toMatchObject(reset);
    expect(await fixture.files.atCheckpoint(key, fork)).toMatchObject({ generation: 4 });
    await fixture.say(key, human('0b'), before);
    expect(await fixture.files.head(key)).toMatchObject({ generation: 5, trees: { uploads: 'u2' } });
    expect((await fixture.files.head(key))?.trees.work).toBeUndefined();
    // The second generation was replaced before a checkpoint named it.
    expect([...(await fixture.files.retained(key))].sort()).toEqual(['u1', 'u2', 'w1', 'w3']);
  });

  test('files that are older than their record stay when the thread goes back', async () => {
    const key = await fixture.emptyThread();
    const before = await fixture.say(key, human('1'));
    await fixture.put(key, { work: 'w1' }, { isImport: true });
    await fixture.say(key, human('2'));
    await fixture.say(key, human('1b'), before);
    expect(await fixture.files.head(key)).toMatchObject({ generation: 1, trees: { work: 'w1' } });
    expect(await fixture.files.atCheckpoint(key, before)).toBe('unknown');
  });

  test('files stay when the thread goes back to a checkpoint of a process that noted none', async () => {
    const key = await fixture.emptyThread();
    await fixture.put(key, { work: 'w1' });
    const other = createRedis({ url: fixture.store.url, keyPrefix: fixture.store.prefix });
    try {
      const view = await redisThreadStore(other).updateState(key, { messages: [human('1')] });
      await fixture.say(key, human('2'));
      expect(await fixture.files.atCheckpoint(key, view.checkpointId ?? '')).toBe('unknown');
      await fixture.say(key, human('1b'), view.checkpointId ?? '');
      expect(await fixture.files.head(key)).toMatchObject({ generation: 1, trees: { work: 'w1' } });
    } finally {
      await other.close();
    }
  });

  test('a copy has the files of its source, or of a checkpoint, under a home of its own', async () => {
    const key = await fixture.emptyThread();
    const before = await fixture.say(key, human('0'));
    await fixture.put(key, { work: 'w1' });
    const first = await fixture.say(key, human('1'));
    const source = await fixture.put(key, { work: 'w2', uploads: 'u1' });
    const second = await fixture.say(key, human('2'));
    const [none, early, whole] = [thread(key.userId), thread(key.userId), thread(key.userId)];
    const copy = async ({ threadId }: ThreadKey, checkpointId?: string): Promise<number | null> => {
      const at = checkpointId === undefined ? {} : { at: { checkpointId, lastSeq: 0 } };
      return (await fixture.store.threads.copyThread(key, threadId, at)).files;
    };

    expect(await copy(early, first)).toBe(1);
    const copied = await fixture.files.head(early);
    expect(copied).toMatchObject({ trees: { work: 'w1' }, resetAt: 0 });
    expect(copied?.home).not.toBe(source.home);
    expect(await fixture.files.atCheckpoint(early, first)).toMatchObject({ trees: { work: 'w1' } });
    expect(await fixture.files.atCheckpoint(early, second)).toBe('unknown');
    expect(await fixture.files.retained(early)).toEqual(['w1']);

    expect(await copy(whole)).toBe(1);
    expect(await fixture.files.head(whole)).toMatchObject({ trees: { work: 'w2', uploads: 'u1' } });
    expect(await copy(none, before)).toBe(0);
    expect([await fixture.files.head(none), await fixture.files.atCheckpoint(none, before)]).toEqual([null, 'none']);
    expect(await fixture.files.threadsWithFiles(key.userId, 0)).toEqual(
      [key, early, whole].map(({ threadId }) => threadId),
    );
    await fixture.store.threads.deleteThread(key);
    expect(await fixture.files.retained(whole)).toEqual(expect.arrayContaining(['w1', 'w2', 'u1']));
    expect((await fixture.store.threads.copyThread(none, newId())).files).toBe(0);
  });

  test('a temporary thread has no files when its run has ended, and is no longer listed once that was seen', async () => {
    const key = thread();
    await fixture.store.admit(key, { kwargs: { ...admission(key).kwargs, temporary: true } });
    const claimed = await fixture.store.claim(key);
    await fixture.bind(key, claimed);
    await fixture.put(key, { work: 'w1' }, { writer: manager });
    await fixture.store.step(claimed, { messages: [human('1')] });
    await fixture.store.finish(claimed);
    expect(await fixture.files.head(key)).toBeNull();
    expect(await fixture.files.retained(key)).toEqual([]);
    expect(await fixture.files.threadsWithFiles(key.userId, 0)).not.toContain(key.threadId);
  });

  test('a deleted thread has no files, and the next one of its id another home', async () => {
    const key = await fixture.emptyThread();
    const { home } = await fixture.put(key, { work: 'w1' });
    await fixture.store.threads.deleteThread(key);
    expect(await fixture.files.head(key)).toBeNull();
    expect(await fixture.files.threadsWithFiles(key.userId, 0)).toEqual([]);
    await expect(fixture.files.commit(key, { expected: null, trees: { work: 'w2' }, ...SIZE })).rejects.toThrow(
      ConflictError,
    );
    expect(home).not.toBe('');
  });
});

import { ConflictError } from '@caribou/contracts';
import { human, thread } from '@caribou/testing';
import { GenerationsFixture, manager } from '../testing/generations-fixture.js';

const fixture = new GenerationsFixture();

describe('files of a thread that goes back', () => {
  test('files go back at rest only', async () => {
    const key = await fixture.emptyThread();
    await fixture.put(key, { work: 'w1' });
    const first = await fixture.say(key, human('1'));
    await fixture.put(key, { work: 'w2' });
    await fixture.store.admit(key);
    await expect(fixture.files.restore(key, first)).rejects.toThrow(ConflictError);
    const idle = thread();
    expect(await fixture.files.restore(idle, first)).toBeNull();
  });

  test('a rollback takes back what was done since the run began, and nothing that was done before', async () => {
    const key = thread();
    await fixture.put(key, { work: 'w1' });
    await fixture.store.turn(key, { messages: [human('1')] });
    await fixture.put(key, { work: 'edited-by-a-person' });
    await fixture.store.admit(key);
    const second = await fixture.store.claim(key);
    await fixture.put(key, { work: 'w2', uploads: 'u1' });
    await fixture.put(key, { work: 'w3', uploads: 'u1' });
    expect(await fixture.files.retained(key)).toContain('edited-by-a-person');
    await fixture.store.finish(second, { rollback: true });
    expect(await fixture.files.head(key)).toMatchObject({
      trees: { work: 'edited-by-a-person', uploads: 'u1' },
      resetAt: 5,
    });

    await fixture.put(key, { work: 'w4', uploads: 'u1' });
    await fixture.store.turn(key, { messages: [human('2')] });
    await fixture.put(key, { work: 'w5', uploads: 'u1' });
    // A run that has ended needs nothing for its rollback.
    expect([...(await fixture.files.retained(key))].sort()).toEqual(['u1', 'w1', 'w4', 'w5']);
  });

  test('what was not stored when a checkpoint was written, or a run began, belongs to both once it is', async () => {
    const key = thread();
    await fixture.store.admit(key);
    const first = await fixture.store.claim(key);
    await fixture.bind(key, first);
    await fixture.put(key, { work: 'w1' }, { writer: manager });
    const early = await fixture.store.step(first, { messages: [human('1')] });
    await fixture.files.noteUnpublished(key, manager);
    const late = await fixture.store.step({ ...first, head: early.head }, { messages: [human('2')] });
    await fixture.put(key, { work: 'w1', uploads: 'u1' });
    await fixture.store.finish(first);
    await fixture.store.admit(key);
    const second = await fixture.store.claim(key);
    expect([first.filesWith, second.filesWith]).toEqual([undefined, { managerId: 'm1', machine: 'one' }]);
    const [earlyId = '', lateId = ''] = [early, late].map(({ head }) => head.checkpointId ?? undefined);
    expect(await fixture.files.atCheckpoint(key, lateId)).toMatchObject({ isPartial: true, trees: { work: 'w1' } });

    await fixture.bind(key, second);
    await fixture.put(key, { work: 'large', uploads: 'u1' }, { writer: manager });
    expect(await fixture.files.atCheckpoint(key, earlyId)).toEqual({ generation: 1, trees: { work: 'w1' } });
    expect(await fixture.files.atCheckpoint(key, lateId)).toEqual({ generation: 3, trees: { work: 'large' } });
    await fixture.put(key, { work: 'of-the-second', uploads: 'u1' }, { writer: manager });
    await fixture.store.finish(second, { rollback: true });
    expect(await fixture.files.head(key)).toMatchObject({ trees: { work: 'large', uploads: 'u1' } });
    expect([...(await fixture.files.retained(key))].sort()).toEqual(['large', 'u1', 'w1']);
  });

  test('a rollback of the first run with files leaves none', async () => {
    const key = thread();
    await fixture.store.admit(key);
    const first = await fixture.store.claim(key);
    await fixture.put(key, { work: 'w1' });
    await fixture.store.finish(first, { rollback: true });
    expect((await fixture.files.head(key))?.trees).toEqual({});
  });

  test('going back drops what a working copy has beyond the head, also when the stored work is the same', async () => {
    const key = thread();
    await fixture.store.admit(key);
    const first = await fixture.store.claim(key);
    await fixture.bind(key, first);
    await fixture.put(key, { work: 'w1' }, { writer: manager });
    const { head } = await fixture.store.step(first, { messages: [human('1')] });
    await fixture.store.finish(first);
    expect(await fixture.files.head(key)).toMatchObject({ resetAt: 0 });

    // Its manager dies in a command: what that has written is on the disk of its machine, and nowhere else.
    await fixture.store.admit(key);
    const second = await fixture.store.claim(key);
    await fixture.bind(key, second);
    await fixture.store.finish(second, { rollback: true });
    expect(await fixture.files.head(key)).toMatchObject({ trees: { work: 'w1' }, generation: 2, resetAt: 2 });
    await fixture.say(key, human('2'));
    await fixture.say(key, human('again'), head.checkpointId ?? '');
    expect(await fixture.files.head(key)).toMatchObject({ trees: { work: 'w1' }, generation: 3, resetAt: 3 });
  });

  test('only the checkpoint that stays when the others are removed has its files', async () => {
    const key = await fixture.emptyThread();
    await fixture.put(key, { work: 'w1' });
    const first = await fixture.say(key, human('1'));
    await fixture.put(key, { work: 'w2' });
    const second = await fixture.say(key, human('2'));
    await fixture.store.threads.keepLatestCheckpoint(key);
    expect(await fixture.files.atCheckpoint(key, first)).toBe('unknown');
    expect(await fixture.files.atCheckpoint(key, second)).toMatchObject({ trees: { work: 'w2' } });
    expect(await fixture.files.retained(key)).toEqual(['w2']);
  });
});

import { newId, QuotaError } from '@caribou/contracts';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { FEW_WAITING, steeringOf } from '../testing/steering-client.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
}, FEW_WAITING);

const { runningThread, steer, waitingTexts } = steeringOf(() => store);

describe('a steering request that is sent again', () => {
  test('a message that waits, or that a turn contains, is given to its run once', async () => {
    const { key, run, lease, head } = await runningThread();
    const more = human('once');
    await steer(key, [more]);

    expect(await steer(key, [more])).toMatchObject({ repeated: true, run: { run_id: run.run_id } });
    await store.step({ lease, head }, { messages: [more] }, { joined: 1 });
    expect(await steer(key, [more])).toMatchObject({ repeated: true, run: { run_id: run.run_id } });
    await store.finish({ lease });

    expect(await steer(key, [more])).toMatchObject({ repeated: true, run: { run_id: run.run_id, status: 'success' } });
    expect(await store.threads.listRuns(key, { limit: 10, offset: 0 })).toHaveLength(1);
  });

  test('a message that is the input of a run which has not begun does not join it as well', async () => {
    const key = thread();
    const message = human('first');
    const first = await steer(key, [message]);

    expect(await steer(key, [message])).toMatchObject({ repeated: true, run: { run_id: first.run.run_id } });
    expect(await waitingTexts(key)).toEqual([]);
  });

  test('of a request with known and new messages the new ones join', async () => {
    const { key } = await runningThread();
    const [one, two] = [human('one'), human('two')];
    await steer(key, [one]);

    expect(await steer(key, [one, two])).toMatchObject({ repeated: false });
    expect(await waitingTexts(key)).toHaveLength(2);
  });

  test('the Idempotency-Key names the run that the messages were given to', async () => {
    const { key, run, lease, head } = await runningThread();
    const idempotency = { key: newId(), bodyHash: 'a' };
    const [message, sameBody] = [human('once'), human('once')];
    await steer(key, [message], { idempotency });

    expect(await steer(key, [sameBody], { idempotency })).toMatchObject({
      repeated: true,
      run: { run_id: run.run_id },
    });
    await store.step({ lease, head }, { messages: [message] }, { joined: 1 });
    await store.finish({ lease });
    expect(await steer(key, [sameBody], { idempotency })).toMatchObject({ repeated: true });
    await expect(steer(key, [sameBody], { idempotency: { ...idempotency, bodyHash: 'b' } })).rejects.toThrow(
      'another request body',
    );
  });
});

describe('bounds of waiting messages', () => {
  test('above the number and above the bytes a request is refused with the limit, and nothing is written', async () => {
    const { key } = await runningThread();
    await steer(key, [human('1'), human('2')]);
    const before = await store.dump();

    const many = steer(key, [human('3'), human('4')]);
    await expect(many).rejects.toBeInstanceOf(QuotaError);
    await expect(many).rejects.toMatchObject({ use: { quota: 'steering', limit: 3, used: 2 } });
    const large = steer(key, [human('x'.repeat(2_000))]);
    await expect(large).rejects.toMatchObject({ use: { quota: 'steering-bytes', limit: 2_000 } });
    expect(await store.dump()).toEqual(before);
  });

  test('the bytes count as stored by the user until the run is deleted', async () => {
    const { key, run, lease, head } = await runningThread();
    const stored = (): Promise<string | null> =>
      store.redis.use((client) => client.get(store.redis.keys.thread(key).stored));
    const before = Number(await stored());
    const more = human('more');
    await steer(key, [more]);
    expect(Number(await stored())).toBe(before + JSON.stringify(more).length);

    await store.step({ lease, head }, { messages: [more] }, { joined: 1 });
    await store.finish({ lease });
    await store.threads.deleteRun(key, run.run_id);

    expect(await stored()).toBeNull();
  });
});

describe('what removes waiting messages', () => {
  test('the rollback of the run that they were given to, but not of another', async () => {
    const { key, run, lease } = await runningThread();
    await steer(key, [human('for the first')]);
    await store.finish({ lease }, { status: 'error' });
    const second = await store.admit(key);
    const claimed = await store.claim(key);
    const own = await steer(key, [human('for the second')]);
    expect(own.run.run_id).toBe(second.run_id);

    await store.finish(claimed, { status: 'interrupted', rollback: true });

    const texts = await waitingTexts(key);
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain(`${run.run_id}:`);
    expect(await steer(key, [human('for the second')])).toMatchObject({ repeated: false });
  });

  test('the rollback of a queued run that was steered', async () => {
    const key = thread();
    const first = await store.admit(key);
    await steer(key, [human('gone')]);

    await store.threads.requestCancel(key, first.run_id, 'rollback');

    expect(await waitingTexts(key)).toEqual([]);
    expect(await store.redis.use((client) => client.hget(store.redis.keys.thread(key).record, 'steering'))).toBeNull();
  });

  test('the deletion of the thread; a copy of it has none', async () => {
    const { key, lease } = await runningThread();
    await steer(key, [human('left')]);
    await store.finish({ lease }, { status: 'error' });
    const target = newId();
    await store.threads.copyThread(key, target);
    await store.admit({ ...key, threadId: target });
    expect((await store.claim({ ...key, threadId: target })).waiting).toBeUndefined();

    await store.threads.deleteThread(key);

    expect((await store.keys()).filter((name) => name.includes(key.threadId))).toEqual([]);
  });
});

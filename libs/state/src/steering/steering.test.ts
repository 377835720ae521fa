import { type HumanMessage, newId, QuotaError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { admission, ai, human, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';
import type { AdmitRequest, AdmitResult } from '../ports/run-store.js';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { maxSteering: 3, maxSteeringBytes: 2_000 },
);

const inputOf = (...messages: HumanMessage[]): Pick<AdmitRequest, 'kwargs'> => ({
  kwargs: { ...admission(thread()).kwargs, input: { messages } },
});

const steer = (key: ThreadKey, messages: HumanMessage[], over: Partial<AdmitRequest> = {}): Promise<AdmitResult> =>
  store.threads.admit({ ...admission(key), ...inputOf(...messages), multitaskStrategy: 'steer', ...over });

/** A thread with a claimed run whose input is committed. */
async function runningThread() {
  const key = thread();
  const input = human('hello');
  const run = await store.admit(key, inputOf(input));
  const claimed = await store.claim(key);
  const { head } = await store.step(claimed, { messages: [input] }, { inputCommitted: true, next: ['model_request'] });
  return { key, run, lease: claimed.lease, head };
}

const waitingTexts = async (key: ThreadKey): Promise<string[]> =>
  store.redis.use((client) => client.lrange(store.redis.keys.steering(key), 0, -1));

const transcript = async (key: ThreadKey): Promise<unknown[]> =>
  textsOf((await store.threads.head(key))?.state.messages ?? []);

describe('admission with strategy steer', () => {
  test('an idle thread gets an ordinary run, stored as enqueue', async () => {
    const key = thread();

    const admitted = await steer(key, [human('go')]);

    expect(admitted).toMatchObject({ repeated: false, isUnderWay: false, run: { multitask_strategy: 'enqueue' } });
    expect(admitted.joinedAfter).toBeUndefined();
    expect(await waitingTexts(key)).toEqual([]);
  });

  test('a message for a running run is found by the next commit, and removed by the one that contains it', async () => {
    const { key, run, lease, head } = await runningThread();
    const more = human('also this');

    const admitted = await steer(key, [more]);

    expect(admitted.run).toMatchObject({ run_id: run.run_id, status: 'running' });
    expect(admitted.joinedAfter).toBe(1);
    expect(await store.threads.listRuns(key, { limit: 10, offset: 0 })).toHaveLength(1);
    const first = await store.step({ lease, head }, { messages: [ai('a')] });
    expect(first.waiting).toEqual([{ runId: run.run_id, message: more }]);
    const second = await store.step({ lease, head: first.head }, { messages: [more] }, { joined: 1 });
    expect(second.waiting).toBeUndefined();
    expect(await waitingTexts(key)).toEqual([]);
    await store.finish({ lease });
    expect(await transcript(key)).toEqual(['hello', 'a', 'also this']);
    expect(await store.threads.getRun(key, run.run_id)).toMatchObject({ status: 'success', steered: 1 });
  });

  test('a commit that is repeated removes its messages once', async () => {
    const { key, lease, head } = await runningThread();
    const [one, two] = [human('one'), human('two')];
    await steer(key, [one]);
    const write = () => store.step({ lease, head }, { messages: [one] }, { joined: 1, after: 1 });

    await write();
    await steer(key, [two]);
    const again = await write();

    expect(again.waiting?.map(({ message }) => message)).toEqual([two]);
    expect(await store.threads.getRun(key, lease.runId)).toMatchObject({ steered: 1 });
  });

  test('a run does not succeed while messages wait, and nothing is written', async () => {
    const { key, lease, head } = await runningThread();
    await steer(key, [human('wait')]);
    const before = await store.dump();

    const refused = await store.finish({ lease });

    expect(refused).toMatchObject({ steered: 'messages', appended: [] });
    expect(await store.dump()).toEqual(before);
    const joined = await store.step({ lease, head }, { messages: [human('wait')] }, { joined: 1 });
    expect(joined.waiting).toBeUndefined();
    expect((await store.finish({ lease })).steered).toBeUndefined();
  });

  test('of a finish and a steer at once either the run continues or a new one starts', async () => {
    for (let round = 0; round < 30; round += 1) {
      const { key, run, lease, head } = await runningThread();
      const more = human('more');

      const steers = (): Promise<AdmitResult> => steer(key, [more]);
      const early = round % 2 === 0 ? undefined : steers();
      const finishes = store.finish({ lease });
      const [finished, admitted] = await Promise.all([finishes, early ?? steers()]);

      if (finished.steered === 'messages') {
        expect(admitted.run.run_id).toBe(run.run_id);
        await store.step({ lease, head }, { messages: [more] }, { joined: 1 });
        expect((await store.finish({ lease })).steered).toBeUndefined();
      } else {
        expect(admitted.run.run_id).not.toBe(run.run_id);
        const claimed = await store.claim(key);
        expect(claimed.waiting).toBeUndefined();
        expect(claimed.run.kwargs.input?.messages).toEqual([more]);
      }
    }
  });

  test.each(['error', 'timeout', 'interrupted'] as const)(
    'a run that ends as %s leaves its messages to the next run',
    async (status) => {
      const { key, run, lease } = await runningThread();
      const left = human('left');
      await steer(key, [left]);

      expect((await store.finish({ lease }, { status })).steered).toBeUndefined();

      await store.admit(key);
      expect((await store.claim(key)).waiting).toEqual([{ runId: run.run_id, message: left }]);
    },
  );

  test('a run that ends at a breakpoint leaves them too', async () => {
    const { key, lease, head } = await runningThread();
    await steer(key, [human('left')]);
    const commit = { head, state: head.state, next: ['tools'], source: 'loop', step: 2, events: [] } as const;

    expect((await store.finish({ lease }, { commit })).steered).toBeUndefined();

    expect((await store.threads.getThread(key)).status).toBe('interrupted');
    expect(await waitingTexts(key)).toHaveLength(1);
  });

  test('the owner that takes over is given what waits', async () => {
    const { key, run, lease } = await runningThread();
    const more = human('more');
    await steer(key, [more]);

    await store.runs.handOver(lease);

    expect((await store.claim(key)).waiting).toEqual([{ runId: run.run_id, message: more }]);
  });

  test('a queued run is steered when the running one was asked to stop; with none queued a new run starts', async () => {
    const { key, run } = await runningThread();
    await store.threads.requestCancel(key, run.run_id, 'interrupt');

    const second = await steer(key, [human('after the stop')]);
    const third = await steer(key, [human('and this')]);

    expect(second.run.run_id).not.toBe(run.run_id);
    expect(third.run.run_id).toBe(second.run.run_id);
    expect(third.joinedAfter).toBe(0);
  });
});

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

test('a message that may only join starts no run on an idle thread', async () => {
  const { key, lease } = await runningThread();
  expect(await steer(key, [human('joins')], { joinOnly: true })).toMatchObject({ run: { run_id: lease.runId } });
  await store.finish({ lease }, { status: 'error' });

  const refused = steer(key, [human('too late')], { joinOnly: true });

  await expect(refused).rejects.toThrow('no run of the thread is in flight');
  expect(await store.threads.listRuns(key, { limit: 10, offset: 0 })).toHaveLength(1);
});

test('a checkpoint from which the run in flight does not continue is refused', async () => {
  const { key, lease, head } = await runningThread();
  await store.step({ lease, head }, { messages: [ai('a')] });
  await store.finish({ lease });
  await store.admit(key);
  const claimed = await store.claim(key);

  const refused = steer(key, [human('edit')], { checkpointId: head.checkpointId ?? '' });

  await expect(refused).rejects.toThrow('does not continue from this checkpoint');
  await store.finish(claimed);
});

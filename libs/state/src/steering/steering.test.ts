import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import type { AdmitResult } from '../ports/admission.js';
import { FEW_WAITING, steeringOf } from '../testing/steering-client.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
}, FEW_WAITING);

const { runningThread, steer, transcript, waitingTexts } = steeringOf(() => store);

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

import { ConflictError, type InterruptRecord, newId } from '@caribou/contracts';
import { answerInterrupts } from '@caribou/core';
import { admission, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import type { AdmitRequest } from '../ports/admission.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const interrupt = (extra: Partial<InterruptRecord> = {}): InterruptRecord => ({
  id: newId().replaceAll('-', ''),
  kind: 'question',
  value: { question: 'May I?' },
  scope: 'tool:call-1',
  key: '#1',
  run_id: 'r1',
  decider: 'owner',
  created_at: '2026-01-01T00:00:00.000Z',
  ...extra,
});

type Key = ReturnType<typeof thread>;

/** Ends a run of the thread with these interrupts. */
async function interrupted(key: Key, open: readonly InterruptRecord[]): Promise<void> {
  await store.admit(key);
  const claimed = await store.claim(key);
  const { head } = await store.step(claimed, { messages: [human('go')] });
  await store.finish(claimed, {
    status: 'interrupted',
    commit: {
      head,
      state: { ...head.state, interrupts: { open: [...open], answered: [] } },
      ...{ next: ['tools'], source: 'loop', step: 2, events: [] },
    },
  });
}

function resuming(key: Key, ids: readonly string[]): AdmitRequest {
  const request = admission(key);
  const answers = Object.fromEntries(ids.map((id) => [id, 'yes']));
  return { ...request, kwargs: { ...request.kwargs, input: null, command: { answers, answered_by: 'alice' } } };
}

const waitingThreads = ({ userId }: Key) =>
  store.redis.use((client) => client.zrange(store.redis.keys.interrupted(userId), 0, -1));

describe('a thread whose run was interrupted', () => {
  test('is listed as waiting, holds no lease and nothing pending, and shows what it asks', async () => {
    const key = thread();
    const asked = interrupt({ expires_ms: 9_000_000_000_000, on_expiry: 'no' });
    await interrupted(key, [asked]);

    const record = await store.threads.getThread(key);
    expect(record).toMatchObject({ status: 'interrupted', values: { interrupts: { open: [asked] } } });
    expect(await waitingThreads(key)).toEqual([key.threadId]);
    const due = await store.redis.use((client) => client.zrange(store.redis.keys.interruptsDue, 0, -1, 'WITHSCORES'));
    expect(due).toEqual([`alice/${key.threadId}`, '9000000000000']);
    const { lease, inFlight } = store.redis.keys.thread(key);
    expect(await store.redis.use((client) => client.exists(lease, inFlight))).toBe(0);
    expect(await store.isPending(key)).toBe(false);
    const [view] = await store.threads.history(key, { limit: 1 });
    expect(view).toMatchObject({ next: ['tools'], state: { interrupts: { open: [asked] } } });
  });

  test('takes each answer once: of two that race, one is admitted', async () => {
    const key = thread();
    const asked = interrupt();
    await interrupted(key, [asked]);

    const both = await Promise.allSettled([1, 2].map(() => store.threads.admit(resuming(key, [asked.id]))));

    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const claimed = await store.claim(key);
    expect(claimed.run.kwargs.command).toMatchObject({ answers: { [asked.id]: 'yes' }, answered_by: 'alice' });
  });

  test('refuses answers to what nobody asks, or what was answered', async () => {
    const key = thread();
    const asked = interrupt();
    await expect(store.threads.admit(resuming(key, [asked.id]))).rejects.toThrow('waits for no answer');
    await interrupted(key, [asked]);
    const other = interrupt();
    await expect(store.threads.admit(resuming(key, [other.id]))).rejects.toThrow(`interrupt ${other.id}`);

    await store.threads.admit(resuming(key, [asked.id]));
    const claimed = await store.claim(key);
    const interrupts = claimed.head.state.interrupts ?? { open: [], answered: [] };
    const answered = answerInterrupts(interrupts, { [asked.id]: 'yes' }, { by: 'alice', at: 'now' });
    const { head } = await store.step(claimed, { interrupts: answered }, { inputCommitted: true });
    await store.finish(claimed, {
      commit: { head, state: { messages: head.state.messages }, next: [], source: 'loop', step: 3, events: [] },
    });

    await expect(store.threads.admit(resuming(key, [asked.id]))).rejects.toThrow(ConflictError);
    expect((await store.threads.getThread(key)).status).toBe('idle');
    expect(await waitingThreads(key)).toEqual([]);
  });

  test('is listed no longer once the run with the answer has ended, which may forget the answer long before', async () => {
    const key = thread();
    const asked = interrupt({ expires_ms: 9_000_000_000_000, on_expiry: 'no' });
    await interrupted(key, [asked]);
    await store.threads.admit(resuming(key, [asked.id]));
    const claimed = await store.claim(key);
    const answered = await store.step(claimed, { interrupts: { open: [], answered: [] } }, { inputCommitted: true });
    const state = { messages: claimed.head.state.messages };
    const forgotten = await store.step(claimed, {}, { head: answered.head, state });
    await store.finish(claimed, {
      commit: { head: forgotten.head, state, next: [], source: 'loop', step: 3, events: [] },
    });

    expect(await waitingThreads(key)).toEqual([]);
    const { interruptsDue, interruptsWaiting } = store.redis.keys;
    expect(await store.redis.use((client) => client.exists(interruptsDue, interruptsWaiting))).toBe(0);
  });

  test('waits again when the run with the answer is cancelled before it began, or rolled back', async () => {
    const key = thread();
    const asked = interrupt();
    await interrupted(key, [asked]);

    const { run } = await store.threads.admit(resuming(key, [asked.id]));
    await store.threads.requestCancel(key, run.run_id, 'interrupt');
    expect(await store.threads.getThread(key)).toMatchObject({ status: 'interrupted' });

    await store.threads.admit(resuming(key, [asked.id]));
    const claimed = await store.claim(key);
    await store.step(claimed, { interrupts: { open: [], answered: [] } }, { inputCommitted: true });
    await store.finish(claimed, { status: 'interrupted', rollback: true });
    expect(await store.threads.getThread(key)).toMatchObject({
      status: 'interrupted',
      values: { interrupts: { open: [asked] } },
    });
    expect(await waitingThreads(key)).toEqual([key.threadId]);
    await store.threads.admit(resuming(key, [asked.id]));
  });

  test('a copy of it waits for its own answers', async () => {
    const key = thread();
    const asked = interrupt();
    await interrupted(key, [asked]);
    const copy = { userId: key.userId, threadId: newId() };
    await store.threads.copyThread(key, copy.threadId);

    expect(await store.threads.getThread(copy)).toMatchObject({ status: 'interrupted' });
    expect((await waitingThreads(key)).sort()).toEqual([key.threadId, copy.threadId].sort());
    await store.threads.admit(resuming(copy, [asked.id]));
    await store.threads.admit(resuming(key, [asked.id]));
  });

  test('an answer from an older checkpoint is refused', async () => {
    const key = thread();
    const { head: old } = await store.turn(key, { messages: [human('first')] });
    await store.turn(key, { messages: [human('second')] });
    const asked = interrupt();
    await interrupted(key, [asked]);

    const request = { ...resuming(key, [asked.id]), checkpointId: old.checkpointId ?? '' };
    await expect(store.threads.admit(request)).rejects.toThrow('the thread went on');
    const current = (await store.threads.head(key))?.checkpointId ?? '';
    await store.threads.admit({ ...resuming(key, [asked.id]), checkpointId: current });
  });
});

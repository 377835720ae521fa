import type { Handoffs, UnadmittedOffer } from '@caribou/bus';
import { AppError, newId } from '@caribou/contracts';
import type { BegunAdmission } from '@caribou/core';
import type { AdmitRequest, ThreadStore } from '@caribou/state';
import { admission, type StoreFixture, thread, useStore } from '@caribou/testing';
import { type BeginLimits, withBegunRuns } from './begun-runs.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const LIMITS: BeginLimits = {
  quotas: { maxRunsPerUser: 7, maxStateBytes: 100, maxRunBytesPerUser: 1_000 },
  usage: { userBudgetPerDay: null, keyBudgetPerDay: null },
  runner: { maxRunningPerUser: 0 },
};
const BEGUN: BegunAdmission = { createdAt: '2026-11-30T10:00:00.000Z', ordinal: '3', stateBytes: 12, inFlight: 2 };

/** A store whose runner answers as said. */
function begunStore(answer: Awaited<ReturnType<Handoffs['beginTurn']>>, limits = LIMITS) {
  const offers: UnadmittedOffer[] = [];
  const outcomes: string[] = [];
  const created: string[] = [];
  const threads: ThreadStore = withBegunRuns(
    store.threads,
    {
      handoffs: {
        beginsAs: ({ threadId }) => (created.includes(threadId) ? 'new' : 'held'),
        beginTurn: (offer) => Promise.resolve(void offers.push(offer)).then(() => answer),
        noteCreated: ({ threadId }) => void created.push(threadId),
        expectEvents: () => () => undefined,
      },
      metrics: { turnOffered: (outcome) => void outcomes.push(outcome) },
      tracedAs: 'gateway@here',
    },
    limits,
  );
  return { threads, offers, outcomes };
}

const request = (over: Partial<AdmitRequest> = {}): AdmitRequest => ({
  ...admission(thread()),
  runId: newId(),
  ...over,
});

describe('runs that a runner admits', () => {
  test('are offered with what their admission needs, and answered like stored ones', async () => {
    const { threads, offers, outcomes } = begunStore(BEGUN);
    const asked = request({ apiKey: 'k1', metadata: { a: 1 }, ifNotExists: 'create' });
    await threads.createThread(asked, {});

    const admitted = await threads.admit(asked);

    expect(offers[0]).toMatchObject({
      thread: { userId: asked.userId, threadId: asked.threadId },
      run: {
        runId: asked.runId,
        kwargs: asked.kwargs,
        admission: {
          isNew: true,
          apiKey: 'k1',
          metadata: { a: 1 },
          asked: { process: 'gateway@here', request: 'input' },
          limits: { inFlight: 7, stateBytes: 100, storedBytes: 1_000 },
        },
      },
    });
    expect(admitted).toMatchObject({ repeated: false, isUnderWay: true, stateBytes: 12, runs: { limit: 7, used: 2 } });
    expect(outcomes).toEqual(['begun']);
    const { run } = await store.threads.admit({ ...asked, threadId: thread().threadId, runId: newId() });
    const { run_id, thread_id, created_at, updated_at, ordinal, ...same } = run;
    expect(admitted.run).toMatchObject(same);
    expect(admitted.run).toMatchObject({ run_id: asked.runId, ordinal: 3, created_at: BEGUN.createdAt });
  });

  test('are admitted by the gateway when no runner begins them, and known when one did so too late to answer', async () => {
    const asked = request({ ifNotExists: 'create' });
    const refused = begunStore(undefined);
    expect(await refused.threads.admit(asked)).toMatchObject({ repeated: false, isUnderWay: false });
    expect(refused.outcomes).toEqual(['not_begun']);

    const late = begunStore('late');
    expect(await late.threads.admit(asked)).toMatchObject({ repeated: false, run: { run_id: asked.runId } });
    const second: AdmitRequest = { ...asked, runId: newId(), multitaskStrategy: 'reject' };
    await expect(late.threads.admit(second)).rejects.toThrow(AppError);
    expect((await store.keys()).filter((key) => key.endsWith(`${second.runId}:withdrawn`))).toHaveLength(1);
    expect(late.outcomes).toEqual(['late', 'late']);
  });

  test('are those alone for which nothing else has to be decided', async () => {
    const { threads, offers } = begunStore(BEGUN);
    const { kwargs } = request();
    const others: Partial<AdmitRequest>[] = [
      { idempotency: { key: 'k', bodyHash: 'h' } },
      { webhook: 'https://example.com/' },
      { delayMs: 1_000 },
      { multitaskStrategy: 'steer' },
      { kwargs: { ...kwargs, temporary: true } },
      { kwargs: { ...kwargs, input: null } },
    ];
    for (const over of others) await threads.admit(request({ ifNotExists: 'create', ...over }));
    expect(offers).toEqual([]);
    for (const limits of [
      { usage: { userBudgetPerDay: 5, keyBudgetPerDay: null } },
      { runner: { maxRunningPerUser: 1 } },
    ]) {
      const limited = begunStore(BEGUN, { ...LIMITS, ...limits });
      await limited.threads.admit(request({ ifNotExists: 'create' }));
      expect(limited.offers).toEqual([]);
    }
  });
});

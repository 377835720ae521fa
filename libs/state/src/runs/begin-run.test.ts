import { applyUpdate, type OfferedAdmission, type ThreadKey } from '@caribou/core';
import { newId, type RunKwargs } from '@caribou/contracts';
import { admission, ai, human, openStores, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';
import { HeadCache } from '../checkpoints/head-cache.js';
import type { ClaimResult, CommitRequest, FirstCommit, ThreadHead } from '../ports/run-store.js';
import { NO_CALLS, tracedStores } from '../testing/traced-stores.js';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000, heads: new HeadCache(1024 ** 2) },
);

const NO_LIMITS = { inFlight: 100, stateBytes: 0, storedBytes: 0 };

interface Offered extends Partial<OfferedAdmission> {
  readonly runId?: string;
  readonly kwargs?: RunKwargs;
}

/** The first commit of a run that is not admitted yet. */
function offerOf(
  key: ThreadKey,
  { runId = newId(), kwargs = admission(key).kwargs, ...over }: Offered = {},
): FirstCommit {
  const request = admission(key);
  const admitted: OfferedAdmission = {
    ...{ isNew: true, assistantId: request.assistantId, agent: request.assistantId },
    ...{ metadata: request.metadata, strategy: 'reject', limits: NO_LIMITS },
    ...over,
  };
  const begun = { run_id: runId, thread_id: key.threadId, attempt: 1, dropped_message_ids: [] };
  const requestOn = (head: ThreadHead): CommitRequest => ({
    head,
    state: applyUpdate(head.state, kwargs.input ?? {}),
    next: ['model_request'],
    source: 'input',
    step: (head.metadata?.step ?? -1) + 1,
    events: [{ kind: 'run.start', ...begun, checkpoint_id: head.checkpointId }],
    inputCommitted: true,
    opens: 'm1',
    trace: NO_CALLS,
  });
  return { run: { runId, kwargs, headId: null, admission: admitted }, requestOn };
}

const begin = (key: ThreadKey, offered?: Offered): Promise<ClaimResult> =>
  store.runs.claim(key, newId(), { first: offerOf(key, offered) });

/** Begins a run, or throws. */
async function begun(key: ThreadKey, offered?: Offered) {
  const claimed = await begin(key, offered);
  if (claimed.kind !== 'run' || claimed.committed === undefined) throw new Error(`the claim answered ${claimed.kind}`);
  return { ...claimed, head: claimed.committed.head };
}

async function newThread(userId = `user-${newId()}`): Promise<ThreadKey> {
  const key = thread(userId);
  await store.threads.createThread(key, {});
  return key;
}

/** What Redis holds, without what differs between any two runs, and fields that nobody reads once a run was claimed. */
async function shapeOf(opened: StoreFixture): Promise<unknown> {
  const ids: string[] = [];
  const text = JSON.stringify(await opened.dump()).replaceAll(opened.prefix, '');
  return JSON.parse(
    text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
        if (!ids.includes(id)) ids.push(id);
        return `id${ids.indexOf(id)}`;
      })
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z/g, 'time')
      .replace(/\b1\d{12,15}\b/g, 'time')
      .replace(/"asked(?:_ms)?":"[^"]*",?/g, ''),
  );
}

describe('a run that its runner admits', () => {
  test('leaves in Redis what admission, claim and first commit leave', async () => {
    const [message, at] = [human('hello'), { userId: 'alice', threadId: newId() }];
    const shapes: unknown[] = [];
    for (const together of [false, true]) {
      const opened = openStores(store.url, { leaseMs: 60_000 });
      const stores = tracedStores(opened);
      await opened.threads.createThread(at, {});
      const kwargs = { ...admission(at).kwargs, input: { messages: [message] } };
      const runner = stores.runner();
      if (together) {
        const asked = { process: 'gateway@gateway-1~12~m1abcdefg1234', request: 'input' };
        await runner.claim(at, newId(), { first: offerOf(at, { kwargs, asked, strategy: 'enqueue' }) });
      } else {
        const { run } = await stores.admit(at, { kwargs });
        const { run: offered, requestOn } = offerOf(at, { runId: run.run_id, kwargs });
        const { admission: _admitted, ...admittedRun } = offered;
        await runner.claim(at, newId(), { first: { run: admittedRun, requestOn } });
      }
      shapes.push(await shapeOf(opened));
      await opened.close();
    }

    expect(shapes[1]).toEqual(shapes[0]);
    expect(JSON.stringify(shapes[1])).toContain('run.start');
  });

  test('is answered with its record and the commit, runs to its end, and is found by later turns', async () => {
    const key = await newThread();

    const { run, lease, head, admitted, committed } = await begun(key, { apiKey: 'k1' });

    expect(admitted).toMatchObject({ ordinal: '1', stateBytes: 0, inFlight: 1 });
    expect(run).toMatchObject({
      status: 'running',
      attempt: 1,
      api_key: 'k1',
      ordinal: 1,
      created_at: admitted?.createdAt,
    });
    expect(committed?.appended.map(({ seq, event }) => [seq, event.kind])).toEqual([
      [1, 'run.start'],
      [2, 'checkpoint'],
    ]);
    const stored = await store.threads.getRun(key, run.run_id);
    expect(stored).toMatchObject({ ...run, input_committed: true, last_seq: 2 });
    await store.step({ lease, head }, { messages: [ai('hi')] }, { after: 2 });
    await store.finish({ lease });

    const next = await begun(key, { isNew: false });
    expect(textsOf(next.head.state.messages)).toEqual(['hello', 'hi', 'hello']);
    expect(next.admitted).toMatchObject({ ordinal: '2', inFlight: 1 });
  });

  test('is admitted once: a later admission is its repetition, and a lost reply is found by a claim', async () => {
    const key = await newThread();
    const first = offerOf(key);
    const claimId = newId();
    await store.runs.claim(key, claimId, { first });

    const repeated = await store.threads.admit({ ...admission(key), runId: first.run.runId });
    expect(repeated).toMatchObject({ repeated: true, run: { run_id: first.run.runId, status: 'running' } });
    expect(await store.runs.claim(key, claimId)).toMatchObject({
      kind: 'run',
      run: { run_id: first.run.runId, attempt: 1 },
    });
    expect(await begin(key, { runId: first.run.runId })).toEqual({ kind: 'not_begun' });
    expect(await store.threads.listRuns(key, { limit: 10, offset: 0 })).toHaveLength(1);
  });

  test('is left to an admission where more has to be decided, and nothing is written', async () => {
    const unchanged = async (key: ThreadKey, offered?: Offered): Promise<void> => {
      const before = await store.dump();
      expect(await begin(key, offered)).toEqual({ kind: 'not_begun' });
      expect(await store.dump()).toEqual(before);
    };
    await unchanged(thread());
    const queued = await newThread();
    await store.admit(queued);
    await unchanged(queued);
    await store.claim(queued);
    await unchanged(queued);
    const older = await newThread();
    await store.turn(older, { messages: [human('one'), ai('two')] });
    await unchanged(older);
    await unchanged(await newThread(), { limits: { ...NO_LIMITS, inFlight: 0 } });
    await unchanged(await newThread(), { limits: { ...NO_LIMITS, storedBytes: 10 } });
    const large = await newThread();
    await store.turn(large, { messages: [human('one'), ai('two')] });
    await unchanged(large, { isNew: false, limits: { ...NO_LIMITS, stateBytes: 10 } });
    await unchanged(await newThread(), { isNew: false });
    const withdrawn = await newThread();
    const runId = newId();
    await store.threads.withdrawRun(withdrawn, runId);
    await unchanged(withdrawn, { runId });
    const unstored = await newThread();
    const { record } = store.redis.keys.thread(unstored);
    await store.redis.use((client) => client.hset(`${record}:files`, { generation: '1', unpublished: 'm1 here 1' }));
    await unchanged(unstored);
    const changed = await newThread();
    await store.turn(changed, { messages: [human('one'), ai('two')] });
    await store.threads.updateState(changed, { messages: [human('three')] });
    await unchanged(changed, { isNew: false });
  });
});

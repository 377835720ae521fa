import { applyUpdate, type OfferedRun, type ThreadKey } from '@caribou/core';
import { newId, type RunRecord } from '@caribou/contracts';
import { admission, ai, human, openStores, type StoreFixture, textsOf, thread, useStore } from '@caribou/testing';
import { redisSandboxRegistry } from '../executions/sandbox-registry.js';
import { redisFileGenerations } from '../files/file-generations.js';
import type { CommitRequest, FirstCommit, ThreadHead } from '../ports/run-store.js';
import { HeadCache } from '../checkpoints/head-cache.js';
import { NO_CALLS, tracedStores } from '../testing/traced-stores.js';
import { redisRunStore } from './run-store.js';

let store: StoreFixture;

useStore(
  (opened) => {
    store = opened;
  },
  { leaseMs: 60_000, heads: new HeadCache(1024 ** 2) },
);

const requestOf = ({ run_id, thread_id, kwargs }: RunRecord, head: ThreadHead): CommitRequest => ({
  head,
  state: applyUpdate(head.state, kwargs.input ?? {}),
  next: ['model_request'],
  source: 'input',
  step: (head.metadata?.step ?? -1) + 1,
  events: [
    { kind: 'run.start', run_id, thread_id, attempt: 1, dropped_message_ids: [], checkpoint_id: head.checkpointId },
  ],
  inputCommitted: true,
  opens: 'm1',
  trace: NO_CALLS,
});

const offerOf = ({ run_id: runId, kwargs }: RunRecord, headId: string | null = null): OfferedRun => ({
  ...{ runId, kwargs, headId },
});

const firstOf = (run: RunRecord, headId: string | null = null): FirstCommit => ({
  run: offerOf(run, headId),
  requestOn: (head) => requestOf(run, head),
});

interface FirstClaim {
  readonly headId?: string | null;
  readonly claimId?: string;
}

/** Claims with the first commit of a run. */
async function claimFirst(key: ThreadKey, run: RunRecord, { headId = null, claimId = newId() }: FirstClaim = {}) {
  const claimed = await store.runs.claim(key, claimId, { isChecked: true, first: firstOf(run, headId) });
  if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
  return claimed;
}

/** What Redis holds, without what differs between any two runs: ids by their order, and no times. */
async function shapeOf(opened: StoreFixture): Promise<unknown> {
  const ids: string[] = [];
  const text = JSON.stringify(await opened.dump()).replaceAll(opened.prefix, '');
  const shape = text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
      if (!ids.includes(id)) ids.push(id);
      return `id${ids.indexOf(id)}`;
    })
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z/g, 'time')
    .replace(/\b1\d{12,15}\b/g, 'time');
  return JSON.parse(shape);
}

describe('a first commit with the claim', () => {
  test('leaves in Redis what a claim and a commit leave', async () => {
    const [message, at] = [human('hello'), { userId: 'alice', threadId: newId() }];
    const shapes: unknown[] = [];
    for (const together of [false, true]) {
      const opened = openStores(store.url, { leaseMs: 60_000 });
      const stores = tracedStores(opened);
      const { kwargs } = admission(at);
      const { run } = await stores.admit(at, { kwargs: { ...kwargs, input: { messages: [message] } } });
      const runner = stores.runner();
      const claimed = await runner.claim(at, newId(), together ? { first: firstOf(run) } : {});
      if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
      if (!together) await runner.commit(claimed.lease, { ...requestOf(run, claimed.head), after: 0 });
      shapes.push(await shapeOf(opened));
      await opened.close();
    }

    expect(shapes[1]).toEqual(shapes[0]);
    expect(JSON.stringify(shapes[1])).toContain('run.start');
  });

  test('answers with the run as it was before, and with the commit', async () => {
    const key = thread();
    const run = await store.admit(key);

    const claimed = await claimFirst(key, run);

    const { committed, lease } = claimed;
    expect(claimed.run).toMatchObject({ status: 'running', attempt: 1, input_committed: false, last_seq: 0 });
    expect(claimed.run.kwargs).toEqual(run.kwargs);
    expect(claimed.head.checkpointId).toBeNull();
    expect(committed).toMatchObject({ budget: 'fine', cancel: null, opens: 'm1' });
    expect(committed?.appended.map(({ seq, event }) => [seq, event.kind])).toEqual([
      [1, 'run.start'],
      [2, 'checkpoint'],
    ]);
    const { events } = await store.events.read('alice', run.run_id, { after: 0, limit: 10 });
    expect(events).toEqual(committed?.appended);
    const head = committed?.head ?? claimed.head;
    await store.step({ lease, head }, { messages: [ai('hi')] }, { after: 2 });
    expect(textsOf((await store.threads.head(key))?.state.messages ?? [])).toEqual(['hello', 'hi']);
    expect(await store.threads.getRun(key, run.run_id)).toMatchObject({ input_committed: true, status: 'running' });
  });

  test('continues a thread whose state the process has', async () => {
    const key = thread();
    const { head } = await store.turn(key, { messages: [human('one'), ai('two')] });
    const { run, headId } = await store.threads.admit({ ...admission(key), runId: newId() });
    expect(headId).toBe(head.checkpointId);

    const { committed } = await claimFirst(key, run, { headId });

    expect(committed?.head.metadata).toMatchObject({ source: 'input', step: 2 });
    expect(textsOf((await store.threads.head(key))?.state.messages ?? [])).toEqual(['one', 'two', 'hello']);
    expect(await store.threads.head(key)).toMatchObject({ parentId: head.checkpointId });
  });

  test('is not prepared on a state that another process has continued', async () => {
    const key = thread();
    const { head } = await store.turn(key, { messages: [human('one')] });
    const elsewhere = redisRunStore(store.redis, { leaseMs: 60_000 });
    await store.admit(key);
    const other = await elsewhere.claim(key, newId());
    if (other.kind !== 'run') throw new Error(`the claim answered ${other.kind}`);
    const written = await elsewhere.commit(other.lease, { ...requestOf(other.run, other.head), after: 0 });
    await elsewhere.finish(other.lease, { status: 'success', events: [] });
    const { run, headId } = await store.threads.admit({ ...admission(key), runId: newId() });
    const requests: ThreadHead[] = [];
    const first: FirstCommit = {
      run: offerOf(run, headId),
      requestOn: (on) => {
        requests.push(on);
        return requestOf(run, on);
      },
    };

    const claimed = await store.runs.claim(key, newId(), { first });

    expect(headId).toBe(written.head.checkpointId);
    expect(headId).not.toBe(head.checkpointId);
    expect(requests).toEqual([]);
    expect(claimed).toMatchObject({ kind: 'run', head: { checkpointId: headId } });
    expect(claimed).not.toHaveProperty('committed');
  });

  test('takes effect once when the claim is repeated, also after a cancel', async () => {
    const key = thread();
    const run = await store.admit(key);
    const claimId = newId();
    const first = await claimFirst(key, run, { claimId });
    await store.threads.requestCancel(key, run.run_id, 'interrupt');

    const again = await claimFirst(key, run, { claimId });

    expect(again.committed?.head.checkpointId).toBe(first.committed?.head.checkpointId);
    expect(again.committed?.appended).toEqual(first.committed?.appended);
    expect(again).toMatchObject({ lease: first.lease, run: { cancel: 'interrupt', input_committed: false } });
    expect((await store.events.read('alice', run.run_id, { after: 0, limit: 10 })).events).toHaveLength(2);
  });

  test('is left to the run when it was claimed and lost before', async () => {
    const key = thread();
    const run = await store.admit(key);
    const { lease } = await claimFirst(key, run);
    await store.runs.handOver(lease);

    const next = await claimFirst(key, run);

    expect(next.committed).toBeUndefined();
    expect(next.run).toMatchObject({ attempt: 2, input_committed: true, last_seq: expect.any(Number) as number });
    expect(textsOf(next.head.state.messages)).toEqual(['hello']);
  });
});

test('a thread whose run begins with its claim counts among those that the user has running', async () => {
  const limited = redisRunStore(store.redis, { leaseMs: 60_000, maxRunningPerUser: 1 });
  const [key, other] = [thread(), thread()];
  const run = await store.admit(key);
  await store.admit(other);

  const claimed = await limited.claim(key, newId(), { first: firstOf(run) });

  expect(claimed).toMatchObject({ kind: 'run', committed: { budget: 'fine' } });
  expect(await limited.claim(other, newId())).toEqual({ kind: 'capped' });
});

describe('a claim leaves the first commit to the run', () => {
  const cases: readonly [why: string, prepare: (key: ThreadKey) => Promise<RunRecord>][] = [
    ['of a run that another one is before', async (key) => (await store.admit(key), await store.admit(key))],
    [
      'of a thread that has a state by now',
      async (key) => (await store.turn(key, { messages: [human('one')] }), await store.admit(key)),
    ],
    [
      'while messages wait that belong before its input',
      async (key) => {
        await store.admit(key);
        const { lease } = await store.claim(key);
        await store.threads.admit({ ...admission(key), multitaskStrategy: 'steer' });
        await store.runs.finish(lease, { status: 'error', events: [] });
        return store.admit(key);
      },
    ],
    [
      'while files of before it are not stored',
      async (key) => {
        await store.admit(key);
        const { lease } = await store.claim(key);
        const registry = redisSandboxRegistry(store.redis);
        await registry.renewManager('m1', 60_000);
        await registry.bind(key, { managerId: 'm1', sandboxId: 'box', driver: 'docker', epoch: lease.epoch });
        await redisFileGenerations(store.redis).noteUnpublished(key, { managerId: 'm1', machine: 'one' });
        await store.runs.finish(lease, { status: 'error', events: [] });
        return store.admit(key);
      },
    ],
  ];
  test.each(cases)('%s', async (_why, prepare) => {
    const key = thread();
    const run = await prepare(key);
    const plain = redisRunStore(store.redis, { leaseMs: 60_000 });

    const claimed = await plain.claim(key, newId(), { first: firstOf(run) });

    if (claimed.kind !== 'run') throw new Error(`the claim answered ${claimed.kind}`);
    expect(claimed.committed).toBeUndefined();
    expect(claimed.run).toMatchObject({ attempt: 1, input_committed: false, last_seq: 0 });
    expect(claimed.run.kwargs.input?.messages).toHaveLength(1);
    const { head } = await plain.commit(claimed.lease, { ...requestOf(claimed.run, claimed.head), after: 0 });
    expect(textsOf(head.state.messages)).toContain('hello');
  });

  test('when nothing is known of a state that there is, or more has to be known', async () => {
    const key = thread();
    await store.turn(key, { messages: [human('one')] });
    const { run, headId } = await store.threads.admit({ ...admission(key), runId: newId() });
    const asked: ThreadHead[] = [];
    const requestOn = (head: ThreadHead): undefined => void asked.push(head);
    const plain = redisRunStore(store.redis, { leaseMs: 60_000 });

    const unknown = await plain.claim(key, 'c1', { first: { run: offerOf(run, headId), requestOn } });
    const withMore = await store.runs.claim(key, 'c1', { first: { run: offerOf(run, headId), requestOn } });

    expect([unknown, withMore]).toEqual([
      expect.not.objectContaining({ committed: expect.anything() as unknown }),
      expect.not.objectContaining({ committed: expect.anything() as unknown }),
    ]);
    expect(asked.map(({ state }) => textsOf(state.messages))).toEqual([['one']]);
  });

  test('when the user has as many running threads as he may have: nothing is written', async () => {
    const limited = redisRunStore(store.redis, { leaseMs: 60_000, maxRunningPerUser: 1 });
    const [busy, key] = [thread(), thread()];
    await store.admit(busy);
    await limited.claim(busy, newId());
    const run = await store.admit(key);
    const before = await store.dump();

    const claimed = await limited.claim(key, newId(), { first: firstOf(run) });

    expect(claimed).toEqual({ kind: 'capped' });
    expect(await store.dump()).toEqual(before);
  });
});

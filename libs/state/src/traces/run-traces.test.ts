import { newId } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisErasures } from '../erasure/erasures.js';
import {
  claimRun,
  GATEWAY,
  NO_CALLS,
  plainTurn,
  RETENTION_MS,
  RUNNER,
  stepOf,
  type TracedStores,
  tracedStores,
} from '../testing/traced-stores.js';

let store: StoreFixture;
let stores: TracedStores;

useStore((opened) => {
  store = opened;
  stores = tracedStores(opened);
});

const runner = 'agent-runner@host-3 (pid 4711)';
const ALL = { after: 0, limit: 5_000 };
const traceOf = (key: ThreadKey, runId: string, page = ALL) =>
  stores.traces.read({ ...key, runId, record: null }, page);
const typesOf = async (key: ThreadKey, runId: string) => (await traceOf(key, runId)).entries.map(({ type }) => type);
const keyOf = ({ userId }: ThreadKey, runId: string) => store.redis.keys.runTrace(userId, runId);
const ttlOf = (key: ThreadKey, runId: string) => store.redis.use((client) => client.pttl(keyOf(key, runId)));

/** A run that is claimed and has committed its input. */
async function begunRun(key: ThreadKey) {
  const { run } = await stores.admit(key);
  const store = stores.runner();
  const claimed = await claimRun(store, key);
  const state = { ...claimed.head.state, messages: [human('question')] };
  const { head } = await store.commit(claimed.lease, {
    ...{ head: claimed.head, state, next: ['model_request'], source: 'input', step: 0, events: [] },
    ...{ inputCommitted: true, trace: NO_CALLS },
  });
  return { runId: run.run_id, lease: claimed.lease, head, store };
}

describe('the trace of a run', () => {
  test('has the admission, the claim, each step with its calls, and the end', async () => {
    const key = thread();
    const runId = await plainTurn(stores, key);

    const { entries, next, retainedUntilMs } = await traceOf(key, runId);

    expect(entries.map(({ type }) => type)).toEqual([
      ...['admitted', 'claimed', 'commit'],
      ...['model_call', 'hooks', 'commit', 'ended'],
    ]);
    expect(entries[0]).toMatchObject({ process: 'gateway@gateway-1 (pid 12)', api_key: null, request: 'input' });
    expect(entries[1]).toMatchObject({ process: runner, attempt: 1 });
    expect(entries[2]).toMatchObject({ step: 0, next: ['model_request'], duration_ms: 2 });
    expect(entries[3]).toMatchObject({
      ...{ model: 'caribou-demo', provider_model: 'gpt-5.1-2026-01-01', provider: 'api.openai.com/v1', outcome: 'ok' },
      ...{ first_token_ms: 412, duration_ms: 1_833, input_tokens: 9_120, output_tokens: 214, finish_reason: 'stop' },
      ...{ attempt: 1, because: 'first', error: null, call: entries[3]?.seq },
    });
    expect(entries[4]).toMatchObject({ duration_ms: 3.1, parts: [{ middleware: 'title', decisions: ['cut'] }] });
    expect(entries[5]).toMatchObject({
      step: 1,
      next: [],
      checkpoint_id: (await stores.threads.head(key))?.checkpointId,
    });
    expect(entries[6]).toMatchObject({ status: 'success', process: runner });
    expect(next).toBeNull();
    expect(retainedUntilMs).toBeGreaterThan(Date.now() + RETENTION_MS - 60_000);
    const seqs = entries.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
  });

  test('is read by pages whose numbers stay the same', async () => {
    const key = thread();
    const runId = await plainTurn(stores, key);
    const whole = (await traceOf(key, runId)).entries;

    const pages = [];
    for (let after: number | null = 0; after !== null; ) {
      const page = await traceOf(key, runId, { after, limit: 2 });
      pages.push(...page.entries);
      after = page.next;
    }

    expect(pages).toEqual(whole);
  });

  test('expires some time after the end, and not before', async () => {
    const key = thread();
    const { runId, lease, store: writer } = await begunRun(key);
    expect(await ttlOf(key, runId)).toBe(-1);

    await writer.finish(lease, { status: 'success', events: [], trace: NO_CALLS });

    expect(await ttlOf(key, runId)).toBeGreaterThan(RETENTION_MS - 60_000);
  });

  test('takes one command more of a commit, and none without a trace', async () => {
    const countOf = async (traced: boolean) => {
      const { lease, head, store: writer } = await begunRun(thread());
      const request = { head, next: [], source: 'loop', step: 1, events: [] } as const;
      const first = await writer.commit(lease, { ...request, state: head.state, trace: stepOf() });
      const before = await commandCount();
      await writer.commit(lease, {
        ...{ ...request, head: first.head, state: { ...head.state, messages: [human('x')] } },
        ...(traced ? { trace: stepOf() } : {}),
      });
      return (await commandCount()) - before;
    };
    const commandCount = async () => {
      const info = await store.redis.use((client) => client.info('commandstats'));
      const counts = [...info.matchAll(/^cmdstat_(?!info|ping)[^:]*:calls=(\d+)/gm)];
      return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
    };

    // The first step in a second also updates the list of threads.
    const leastOf = async (traced: boolean) => {
      const counts = [await countOf(traced), await countOf(traced), await countOf(traced), await countOf(traced)];
      return Math.min(...counts);
    };
    expect((await leastOf(true)) - (await leastOf(false))).toBe(1);
  });

  test('of a plain turn takes at most 700 bytes of Redis with key and deadline', async () => {
    const key = thread();
    await plainTurn(stores, key);
    const runId = await plainTurn(stores, key);

    const name = keyOf(key, runId);
    const production = name.replace(store.prefix, 'caribou:');
    const bytes = await store.redis.use(async (client) => {
      await client.copy(name, production);
      return client.memory('USAGE', production, 'SAMPLES', 0);
    });

    // Redis holds the deadline in a table of its own: an entry, and its part of the table. The figure of Redis 7.0 is 672.
    expect((bytes ?? 0) + 40).toBeLessThanOrEqual(700);
  });

  test('does not exist where none is stored, whoever executes the run', async () => {
    const key = thread();
    const { run_id: runId } = await store.admit(key);
    const writer = stores.runner();
    const claimed = await claimRun(writer, key);

    await writer.finish(claimed.lease, { status: 'success', events: [], trace: stepOf() });

    expect((await store.keys()).filter((name) => name.endsWith(':trace'))).toEqual([]);
    expect((await traceOf(key, runId)).entries).toEqual([]);
  });

  test('says who took the run over from whom and why', async () => {
    const key = thread();
    const { runId, lease } = await begunRun(key);
    const { processes } = store.redis.keys;
    await store.redis.use((client) => client.del(store.redis.keys.thread(key).lease));
    await store.redis.use((client) => client.hset(processes('runs').since, RUNNER, 1));
    const other = stores.runner('agent-runner@host-4~9~m1abc');

    const { run, lease: taken } = await claimRun(other, key, 'c2');
    await stores.runner().noteFence(lease, 'write_refused');
    await other.handOver(taken, 'draining');
    await claimRun(stores.runner(), key, 'c3');

    expect(run.attempt).toBe(2);
    const { entries } = await traceOf(key, runId);
    expect(entries.slice(3)).toMatchObject([
      {
        type: 'taken_over',
        process: 'agent-runner@host-4 (pid 9)',
        from: runner,
        reason: 'lease_lapsed',
        lost_step: true,
      },
      { type: 'claimed', attempt: 2, queued_ms: null },
      { type: 'fenced', process: runner, reason: 'write_refused' },
      { type: 'handed_over', process: 'agent-runner@host-4 (pid 9)', reason: 'draining' },
      { type: 'taken_over', process: runner, from: null, reason: 'released', lost_step: false },
      { type: 'claimed', attempt: 3 },
    ]);
  });

  test('says who asked to pause or cancel the run', async () => {
    const key = thread();
    const { runId } = await begunRun(key);

    await stores.threads.requestPause(key, runId, 'alice');
    await stores.threads.requestCancel(key, runId, 'interrupt', { by: 'user:alice' });
    await stores.threads.requestCancel(key, runId, 'interrupt', { by: 'user:bob' });

    const { entries } = await traceOf(key, runId);
    expect(entries.slice(3)).toMatchObject([
      { type: 'paused', by: 'alice' },
      { type: 'cancel_requested', action: 'interrupt', by: 'user:alice' },
    ]);
  });

  test('of a queued run that another one replaces ends with the reason', async () => {
    const key = thread();
    const { runId: first } = await begunRun(key);
    const { run: queued } = await stores.admit(key, { runId: newId(), multitaskStrategy: 'enqueue' });

    const { run: last } = await stores.admit(key, { runId: newId(), multitaskStrategy: 'interrupt' });

    const asked = { type: 'cancel_requested', action: 'interrupt', by: `run:${last.run_id}` };
    expect((await traceOf(key, queued.run_id)).entries).toMatchObject([
      { type: 'admitted' },
      asked,
      { type: 'ended', status: 'interrupted', process: null },
    ]);
    expect((await traceOf(key, first)).entries.at(-1)).toMatchObject(asked);
    expect(await ttlOf(key, queued.run_id)).toBeGreaterThan(0);
  });

  test.each(['run', 'thread', 'user'] as const)('is deleted with its %s', async (what) => {
    const key = thread();
    const runId = await plainTurn(stores, key);
    const named = async () => (await store.keys()).filter((name) => name.includes(':trace'));
    expect(await named()).toHaveLength(5);

    if (what === 'run') await stores.threads.deleteRun(key, runId);
    else await stores.threads.deleteThread(key);
    if (what === 'user') await redisErasures(store.redis).forgetUser(key.userId);

    const ofUser = Object.values({ ...store.redis.keys.traceTexts(key.userId) });
    const ofThread = Object.values({ ...store.redis.keys.threadTraceTexts(key) });
    const left = { run: [...ofUser, ...ofThread], thread: ofUser, user: [] };
    expect(new Set(await named())).toEqual(new Set(left[what]));
  });

  test('is not copied with its thread, and goes with a run that is rolled back', async () => {
    const key = thread();
    await plainTurn(stores, key);
    await stores.threads.copyThread(key, newId());
    expect((await store.keys()).filter((name) => name.endsWith(':trace'))).toHaveLength(1);

    const { lease, store: writer } = await begunRun(key);
    await writer.finish(lease, { status: 'interrupted', rollback: true, events: [], trace: stepOf() });

    expect((await store.keys()).filter((name) => name.endsWith(':trace'))).toHaveLength(1);
  });

  test('of a stateless thread expires with what else is stored of it', async () => {
    const key = thread();
    const kwargs = { ...(await store.admit(thread())).kwargs, temporary: true };
    const { run } = await stores.admit(key, { kwargs });
    const writer = stores.runner();
    const { lease } = await claimRun(writer, key);

    await writer.finish(lease, { status: 'success', events: [], trace: NO_CALLS });

    expect(await ttlOf(key, run.run_id)).toBeLessThanOrEqual(3_600_000);
  });

  test('leaves out a step that is too large, and says so', async () => {
    const key = thread();
    const tools = Array.from({ length: 400 }, (_, index) => ({
      ...{ atMs: 1, name: `tool-${index}`, id: newId(), durationMs: 1, outcome: 'error' as const },
      error: newId().repeat(5),
    }));

    const runId = await plainTurn(stores, key, stepOf({ tools }));

    const { entries } = await traceOf(key, runId);
    expect(entries.slice(3)).toMatchObject([
      { type: 'note', note: 'step_too_large', dropped: 401 },
      { type: 'commit' },
      { type: 'ended' },
    ]);
  });

  test('shows what the parts around a damaged one say', async () => {
    const key = thread();
    const runId = await plainTurn(stores, key);
    await store.redis.use((client) => client.lset(keyOf(key, runId), 2, 'something else'));
    await store.redis.use((client) => client.rpush(keyOf(key, runId), 's 1750000000000 x\n{"c":'));

    expect(await typesOf(key, runId)).toEqual([
      'admitted',
      'claimed',
      'note',
      'model_call',
      'hooks',
      'commit',
      'ended',
      'note',
    ]);
  });
});

describe('a trace with more parts than it may have', () => {
  test('loses the oldest ones behind its beginning, counts them, and the others have the same numbers', async () => {
    const key = thread();
    const { runId, lease, head, store: writer } = await begunRun(key);
    const name = keyOf(key, runId);
    const filler = Array.from({ length: 4_997 }, (_, index) => `p 1750000000000 user-${index}`);
    await store.redis.use((client) => client.rpush(name, ...filler));
    const before = (await traceOf(key, runId)).entries;

    const request = { next: [], source: 'loop', step: 1, events: [] } as const;
    let last = head;
    for (let index = 0; index < 3; index += 1) {
      const state = { ...last.state, messages: [...last.state.messages, ai('x')] };
      last = (await writer.commit(lease, { ...request, head: last, state, trace: NO_CALLS })).head;
    }

    const { entries, next } = await traceOf(key, runId);
    expect(await store.redis.use((client) => client.llen(name))).toBe(5_000);
    expect(entries.length + (next === null ? 0 : 1)).toBe(5_000);
    expect(entries.slice(0, 64)).toEqual(before.slice(0, 64));
    expect(entries[64]).toMatchObject({ type: 'note', note: 'steps_dropped', dropped: 4 });
    expect(entries.slice(65, 70)).toEqual(before.slice(68, 73));
    const after = await traceOf(key, runId, { after: before[67]?.seq ?? 0, limit: 1 });
    expect(after.entries).toEqual([before[68]]);
  });
});

test('the processes in this test are named as processes name themselves', () => {
  expect([GATEWAY, RUNNER].every((name) => /^[a-z-]+@[\w-]+~\d+~\w+$/.test(name))).toBe(true);
});

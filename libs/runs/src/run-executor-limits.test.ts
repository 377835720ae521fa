import { omitUndefined, type RunEvent, type TaskEvent } from '@caribou/contracts';
import {
  type Clock,
  RunCancelled,
  type RunContext,
  RunTimedOut,
  silentLogger,
  systemClock,
  type ThreadKey,
} from '@caribou/core';
import { createMetrics, noopTracing } from '@caribou/observability';
import { redisFileGenerations, redisRunStore } from '@caribou/state';
import { admission, ai, type StoreFixture, thread, useStore } from '@caribou/testing';
import type { AfterCancel, RunPorts } from './active-run.js';
import { type AgentLoop, type Handling, RunExecutor } from './run-executor.js';
import { RunRegistry } from './run-registry.js';

const LEASE_MS = 30_000;
/** Over when a test says so: see `clockTo`. */
const LIMIT_MS = 3_600_000;

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

interface Given {
  readonly agent: AgentLoop;
  /** Limits the run's time, which is over when `limit` is aborted. */
  readonly limit?: AbortSignal;
  readonly afterCancel?: AfterCancel;
  readonly settleFiles?: RunPorts['settleFiles'];
  /** Changes what is stored of the run before it is claimed. */
  readonly spoil?: (key: ThreadKey, runId: string) => Promise<unknown>;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** A clock on which the time of a run is over when `limit` is aborted. */
const clockTo = (limit: AbortSignal): Clock => ({
  ...systemClock,
  sleep: (ms, signal) => (ms > LEASE_MS ? aborted(limit) : systemClock.sleep(ms, signal)),
});

/** A run from its admission to what a process makes of it; `cancel` is asked for as soon as the agent works. */
async function executed({ agent, limit, afterCancel, settleFiles, spoil }: Given, cancel?: 'interrupt' | 'rollback') {
  const key = thread();
  const plain = admission(key).kwargs;
  const kwargs = limit === undefined ? plain : { ...plain, timeout_ms: LIMIT_MS };
  const { run_id: runId } = await store.admit(key, { kwargs });
  await spoil?.(key, runId);
  const registry = new RunRegistry();
  const executor = new RunExecutor({
    store: redisRunStore(store.redis, { leaseMs: LEASE_MS }),
    registry,
    logger: silentLogger,
    publisher: { publishEvents: () => undefined },
    agent: async (input) => {
      if (cancel !== undefined) {
        await store.threads.requestCancel(key, runId, cancel);
        registry.nudge(runId);
      }
      return agent(input);
    },
    ...omitUndefined({ afterCancel, settleFiles }),
    clock: limit === undefined ? systemClock : clockTo(limit),
    clocks: { leaseMs: LEASE_MS, renewMs: 200, eventWindowMs: 100 },
    metrics: createMetrics({ service: 'test' }),
    tracing: noopTracing,
  });
  const handling: Handling = await executor.handle(key);
  const { events } = await store.events.read(key.userId, runId, { after: 0, limit: 100 });
  return {
    handling,
    key,
    runId,
    events: events.map(({ event }): RunEvent => event),
    run: await store.threads.getRun(key, runId).catch(() => null),
  };
}

/** Works until it is told to stop. */
const untilStopped = (run: RunContext): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(run.signal.reason as Error);
    run.signal.addEventListener('abort', stop);
    if (run.signal.aborted) stop();
  });

/** Commits one answer, which `committed` is told, and works on. */
const answering =
  (committed: () => void = () => undefined): AgentLoop =>
  async ({ host, run, head }) => {
    const messages = [...head.state.messages, ai('Half.')];
    await host.commit({
      state: { ...head.state, messages },
      next: ['model_request'],
      events: [],
      step: 1,
      usage: { turns: 1, calls: [{ caller: 'lead_agent', model: 'm', inputTokens: 5, outputTokens: 1 }] },
    });
    committed();
    return untilStopped(run);
  };

const answersAndGoesOn = answering();

/** An agent that answers and goes on past the limit of its run. */
function answersAndIsLate(): Required<Pick<Given, 'agent' | 'limit'>> {
  const limit = new AbortController();
  return { agent: answering(() => limit.abort()), limit: limit.signal };
}

describe('a run that takes longer than it may', () => {
  test('ends as timeout where its last checkpoint stands, with one terminal event', async () => {
    const { handling, run, events, key } = await executed(answersAndIsLate());

    const message = 'Execution timed out after 3600 seconds';
    expect(handling).toMatchObject({ kind: 'ack', more: false });
    expect(run).toMatchObject({ status: 'timeout', stop_reason: 'timed_out', error: { name: 'TimedOut', message } });
    expect(run).toMatchObject({ total_tokens: 6, llm_call_count: 1 });
    expect(events.slice(-2)).toEqual([
      { kind: 'error', name: 'TimedOut', message },
      { kind: 'end', status: 'timeout' },
    ]);
    expect((await store.threads.head(key))?.state.messages.at(-1)).toMatchObject({ content: 'Half.' });
    expect(await store.threads.getThread(key)).toMatchObject({ status: 'error' });
    expect(await store.isPending(key)).toBe(false);
  });

  test('stops its work as a cancel does: tools end what they run', async () => {
    const reasons: unknown[] = [];
    const limit = new AbortController();
    await executed({
      limit: limit.signal,
      agent: async ({ run }) => {
        limit.abort();
        return untilStopped(run).catch((error: unknown) => {
          reasons.push(error);
          throw error;
        });
      },
    });

    expect(reasons).toEqual([expect.any(RunTimedOut)]);
    expect(reasons[0]).toBeInstanceOf(RunCancelled);
  });

  test('that is over in time ends as it would without a limit', async () => {
    const ends: AgentLoop = ({ head }) =>
      Promise.resolve({ kind: 'finished', last: { state: head.state, next: [], events: [], step: 1 } });

    const { run } = await executed({ agent: ends, limit: new AbortController().signal });

    expect(run).toMatchObject({ status: 'success', stop_reason: null });
  });
});

describe('what is left to say of a cancelled run', () => {
  const told: TaskEvent = { type: 'task_cancelled', task_id: 'c', error: 'Task cancelled by user', usage: null };
  const events: RunEvent[] = [{ kind: 'custom', data: told }];
  const calls = [{ caller: 'subagent', model: 'm', inputTokens: 30, outputTokens: 4 }] as const;

  test('its events come before the end, and its calls are counted once and are no turns of the run', async () => {
    const { run, events: log } = await executed(
      { agent: answersAndGoesOn, afterCancel: () => Promise.resolve({ calls, events }) },
      'interrupt',
    );

    expect(run).toMatchObject({
      status: 'interrupted',
      llm_call_count: 1,
      total_input_tokens: 35,
      total_output_tokens: 5,
      total_tokens: 40,
      lead_agent_tokens: 6,
      subagent_tokens: 34,
    });
    expect(log.filter(({ kind }) => kind === 'custom')).toEqual(events);
    expect(log.at(-1)).toEqual({ kind: 'end', status: 'interrupted' });
    expect(log.filter(({ kind }) => kind === 'end')).toHaveLength(1);
  });

  test('events alone change nothing of the thread', async () => {
    const { key, events: log } = await executed(
      { agent: answersAndGoesOn, afterCancel: () => Promise.resolve({ events }) },
      'interrupt',
    );

    expect(log.slice(-2)).toEqual([...events, { kind: 'end', status: 'interrupted' }]);
    expect(log.filter(({ kind }) => kind === 'checkpoint')).toHaveLength(2);
    expect((await store.threads.head(key))?.state.messages.at(-1)).toMatchObject({ content: 'Half.' });
  });

  test('of one that is rolled back nothing is told, but its calls cost the thread what they cost', async () => {
    const {
      run,
      key,
      events: log,
    } = await executed(
      { agent: answersAndGoesOn, afterCancel: () => Promise.resolve({ calls, events, update: { title: 'x' } }) },
      'rollback',
    );

    expect(run).toBeNull();
    expect(log.some(({ kind }) => kind === 'custom')).toBe(false);
    expect(await store.threads.head(key)).toBeNull();
    expect(await store.threads.threadUsage(key)).toMatchObject({ callers: { lead_agent: 6, subagent: 34 } });
  });

  test('is asked of the state that was committed last, once', async () => {
    const asked: unknown[] = [];
    const afterCancel: AfterCancel = ({ state, record }) => {
      asked.push([state.messages.at(-1)?.content, record.status]);
      return Promise.resolve({});
    };

    await executed({ agent: answersAndGoesOn, afterCancel }, 'interrupt');

    expect(asked).toEqual([['Half.', 'running']]);
  });
});

describe('a run that this version cannot read', () => {
  const agent: AgentLoop = () => Promise.reject(new Error('the agent must not be asked'));
  const recordOf = ({ userId }: ThreadKey, runId: string): string => store.redis.keys.runPrefix(userId) + runId;
  const set = (field: string, text: string) => (key: ThreadKey, runId: string) =>
    store.redis.use((client) => client.hset(recordOf(key, runId), field, text));

  test.each([
    [
      'kwargs that are no JSON',
      ({ userId }: ThreadKey, runId: string) =>
        store.redis.use((client) => client.set(store.redis.keys.runKwargs(userId, runId), '{"input": nul')),
    ],
    ['a strategy of another version', set('multitask_strategy', 'merge')],
    ['metadata that are no JSON', set('metadata', '{')],
    ['a cancel of another version', set('cancel', 'later')],
  ])('ends as error, with %s, and does not hold up the thread', async (_case, spoil) => {
    const { handling, key, runId, run, events } = await executed({ agent, spoil });

    expect(handling).toMatchObject({ kind: 'ack', more: false });
    expect(run).toMatchObject({ status: 'error', error: { name: 'UnreadableRun' } });
    expect(events.map(({ kind }) => kind)).toEqual(['error', 'end']);
    const letters = await store.redis.use((client) => client.lrange(store.redis.keys.deadLetters, 0, -1));
    expect(letters.map((text): unknown => JSON.parse(text))).toMatchObject([
      { id: runId, entry: { user_id: key.userId, record: { run_id: runId } } },
    ]);
    await store.admit(key);
    await store.finish(await store.claim(key));
    expect(await store.threads.getThread(key)).toMatchObject({ status: 'idle' });
  });

  test('is read when only its status or its counters are unknown: the claim writes them', async () => {
    const spoil = async (key: ThreadKey, runId: string) => {
      await store.redis.use((client) =>
        client.hset(recordOf(key, runId), 'status', 'paused', 'attempt', 'x', 'tries', ''),
      );
    };

    const { run } = await executed({ ...answersAndIsLate(), spoil });

    expect(run).toMatchObject({ status: 'timeout', attempt: 1 });
  });
});

test('a run begins when the manager of its thread was asked to store the files of before', async () => {
  const asked: unknown[] = [];
  await executed(
    {
      agent: answersAndGoesOn,
      spoil: async (key) => {
        const files = redisFileGenerations(store.redis);
        await files.commit(key, { expected: null, trees: {}, bytes: 0, files: 0 });
        await store.redis.use((client) =>
          client.hset(store.redis.keys.files(key).generations, 'unpublished', 'm1 one 1'),
        );
      },
      settleFiles: async ({ threadId, userId }, holder) => {
        asked.push({ holder, head: await store.threads.head({ userId, threadId }) });
      },
    },
    'interrupt',
  );
  expect(asked).toEqual([{ holder: { managerId: 'm1', machine: 'one' }, head: null }]);
});

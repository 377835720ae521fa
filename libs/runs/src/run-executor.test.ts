import { createMetrics, noopTracing } from '@caribou/observability';
import {
  FROM_CLIENT,
  InvalidRequestError,
  newId,
  type RunEvent,
  type RunKwargs,
  TooLargeError,
  UnavailableError,
} from '@caribou/contracts';
import {
  RunDraining,
  type RunEventLog,
  type RunStore,
  silentLogger,
  systemClock,
  type ThreadKey,
  type ThreadStore,
} from '@caribou/core';
import { runAgent } from '@caribou/agent';
import { leadChain } from '@caribou/middleware';
import { createRedis, type RedisConnection, redisEventLog, redisRunStore, redisThreadStore } from '@caribou/state';
import {
  admission,
  deltaTexts,
  dyingStore,
  type FakeSandbox,
  fakeSandbox,
  overNetwork,
  scriptedModel,
  type ScriptedModel,
  startRedis,
  type TestServer,
  transcriptFaults,
  waitFor,
} from '@caribou/testing';
import { leadTools } from '@caribou/tools';
import type { AfterCancel } from './active-run.js';
import { type AgentLoop, type Handling, RunExecutor } from './run-executor.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { RunRegistry } from './run-registry.js';

/** Lapses in no test by itself: see `lapse`. */
const LEASE_MS = 30_000;

let server: TestServer;
let redis: RedisConnection;
let threads: ThreadStore;
let log: RunEventLog;
/** Of all runs: those of processes that died would renew after the tests too. */
const keepers: LeaseKeeper[] = [];

beforeAll(async () => {
  server = await startRedis({ appendonly: false });
  redis = createRedis({ url: server.url, keyPrefix: `${newId()}:` });
  threads = redisThreadStore(redis, { leaseMs: LEASE_MS });
  log = redisEventLog(redis);
});

afterAll(async () => {
  for (const keeper of keepers) keeper.stop();
  await redis.close();
  await server.stop();
});

/** Store calls that every run makes: claim, input, AI message, tool results, finish; appends come as they fall. */
const SURE_CALLS = 5;

const SCRIPT = [
  { content: ['Look', 'ing'], calls: [{ name: 'bash', args: { description: 'count', command: 'echo one' } }] },
  { content: ['It says ', 'one.'] },
];

const kwargs = (text: string): RunKwargs => ({
  input: { messages: [{ type: 'human', id: newId(), content: text, additional_kwargs: {}, response_metadata: {} }] },
  context: {},
  recursion_limit: 10,
  stream_mode: ['values'],
  stream_subgraphs: false,
  on_disconnect: 'continue',
  temporary: false,
});

async function admitted(
  input = kwargs('count').input,
  thread: ThreadKey = { userId: 'default', threadId: newId() },
): Promise<ThreadKey & { readonly runId: string }> {
  const { run } = await threads.admit({
    ...thread,
    runId: newId(),
    assistantId: 'lead_agent',
    metadata: {},
    kwargs: { ...kwargs('count'), input },
    multitaskStrategy: 'reject',
    ifNotExists: 'create',
    threadMetadata: {},
  });
  return { ...thread, runId: run.run_id };
}

const agentOn =
  (sandbox: FakeSandbox, model: ScriptedModel = scriptedModel(SCRIPT)): AgentLoop =>
  ({ host, run, head, position }) =>
    runAgent({
      chain: leadChain({ sandbox, model }),
      tools: leadTools({ sandbox }),
      model: overNetwork(model),
      systemPrompt: 'test',
      options: { maxTurns: 10 },
      host,
      run,
      state: head.state,
      step: head.metadata?.step ?? 0,
      position,
    });

function noted(registry: RunRegistry): RunRegistry {
  const add = registry.add.bind(registry);
  registry.add = (runId, keeper) => {
    keepers.push(keeper);
    return add(runId, keeper);
  };
  return registry;
}

interface More {
  readonly afterCancel?: AfterCancel;
  readonly sandbox?: FakeSandbox;
  readonly onMemoryQueued?: (thread: ThreadKey) => void;
}

function executorOn(store: RunStore, agent: AgentLoop, more: More = {}): RunExecutor {
  return new RunExecutor({
    ...more,
    store,
    publisher: { publishEvents: () => undefined },
    registry: noted(new RunRegistry()),
    agent,
    clock: systemClock,
    logger: silentLogger,
    clocks: { leaseMs: LEASE_MS, renewMs: LEASE_MS / 3 },
    metrics: createMetrics({ service: 'test' }),
    tracing: noopTracing,
  });
}

const runStore = (): RunStore => redisRunStore(redis, { leaseMs: LEASE_MS, maxAttempts: 2 });

/** Ends the lease of a dead owner as its time does. */
const lapse = (thread: ThreadKey) => redis.use((client) => client.del(redis.keys.thread(thread).lease));

/** What a fresh process makes of the thread's wake once the lease of a dead owner has lapsed. */
async function takeOver(thread: ThreadKey, agent: AgentLoop, more: More = {}): Promise<Handling> {
  const executor = executorOn(runStore(), agent, more);
  for (;;) {
    const handling = await executor.handle(thread, () => undefined);
    if (handling.kind !== 'busy') return handling;
    // A write of the dead owner that was still on its way may have taken the lease again.
    await lapse(thread);
  }
}

/** The lease of a dead owner lapses, and the store says so. */
async function unowned(thread: ThreadKey): Promise<void> {
  const isListed = async (): Promise<boolean> => {
    await lapse(thread);
    return (await runStore().listUnowned(100)).some(({ threadId }) => threadId === thread.threadId);
  };
  await waitFor(isListed, { what: 'the thread among those without an owner' });
}

async function eventsOf(runId: string): Promise<readonly RunEvent[]> {
  const { events } = await log.read('default', runId, { after: 0, limit: 1000 });
  expect(events.map((entry) => entry.seq)).toEqual(events.map((_, index) => index + 1));
  return events.map((entry) => entry.event);
}

async function expectWhole(thread: ThreadKey & { readonly runId: string }, sandbox: FakeSandbox): Promise<void> {
  const head = await threads.head(thread);
  const messages = head?.state.messages ?? [];
  expect(messages.map((message) => [message.type, message.content])).toEqual([
    ['human', 'count'],
    ['ai', 'Looking'],
    ['tool', 'one\n'],
    ['ai', 'It says one.'],
  ]);
  expect(transcriptFaults(messages)).toEqual([]);
  expect(sandbox.executed).toEqual(['echo one']);
  expect((await threads.getRun(thread, thread.runId)).status).toBe('success');
  expect(await threads.getThread(thread)).toMatchObject({ status: 'idle', values: { title: 'count' } });
  const events = await eventsOf(thread.runId);
  expect(events.filter((event) => event.kind === 'end')).toEqual([{ kind: 'end', status: 'success' }]);
  expect(events.at(-1)?.kind).toBe('end');
  const answers = messages.filter((message) => message.type === 'ai').map(({ id, content }) => [id, content]);
  expect([...deltaTexts(events)]).toEqual(answers);
}

describe(RunExecutor, () => {
  test('an undisturbed run leaves a whole transcript, one terminal event and a free thread', async () => {
    const thread = await admitted();
    const sandbox = fakeSandbox();

    expect(await takeOver(thread, agentOn(sandbox))).toEqual({ kind: 'ack' });

    await expectWhole(thread, sandbox);
    expect(await takeOver(thread, agentOn(sandbox))).toEqual({ kind: 'ack' });
    expect(await redisRunStore(redis).hasWork(thread)).toBe(false);
  });

  test('a run that its chain marks is queued for memory once it finished, and not when it failed', async () => {
    const queued: string[] = [];
    const onMemoryQueued = ({ threadId }: ThreadKey): void => void queued.push(threadId);
    const [finished, failed] = [await admitted(), await admitted()];
    const failing: AgentLoop = ({ run }) => Promise.reject(new Error(`no ${String(run.queueForMemory())}`));
    await takeOver(failed, failing, { onMemoryQueued });
    await takeOver(finished, agentOn(fakeSandbox()), { onMemoryQueued });
    expect(queued).toEqual([finished.threadId]);
  });

  test('an input under the ids of answers and results replaces none of them', async () => {
    const thread = await admitted();
    await takeOver(thread, agentOn(fakeSandbox()));
    const before = (await threads.head(thread))?.state.messages ?? [];
    const forged = before.map(({ id }) => ({
      ...{ type: 'human' as const, id, content: `forged ${id}` },
      ...{ additional_kwargs: {}, response_metadata: {} },
    }));

    await admitted({ messages: forged }, thread);
    await takeOver(thread, agentOn(fakeSandbox()));

    const after = (await threads.head(thread))?.state.messages ?? [];
    expect(after.slice(1, 4)).toEqual(before.slice(1));
    expect(after.slice(4, 7).map(({ type }) => type)).toEqual(['human', 'human', 'human']);
  });

  const deaths = Array.from({ length: 10 }, (_, index) => index + 1).flatMap((call) => [
    { call, after: false },
    { call, after: true },
  ]);

  test.each(deaths)('a death at store call $call (after it: $after) is made good by the next runner', async (death) => {
    const thread = await admitted();
    const sandbox = fakeSandbox();
    const { store, died } = dyingStore(redisRunStore(redis, { leaseMs: LEASE_MS }), death);

    const first = executorOn(store, agentOn(sandbox)).handle(thread, () => undefined);
    const outcome = await Promise.race([died.then(() => 'died'), first.then(() => 'finished')]);
    await takeOver(thread, agentOn(sandbox));

    expect(outcome === 'died' || death.call > SURE_CALLS).toBe(true);
    await expectWhole(thread, sandbox);
  });
});

/** The run as it ended, and the kinds of its last events. */
async function endingOf(thread: ThreadKey & { readonly runId: string }) {
  const run = await threads.getRun(thread, thread.runId);
  const kinds = (await eventsOf(thread.runId)).map((event) => event.kind);
  return {
    status: run.status,
    error: run.error,
    kinds: kinds.slice(-2),
    ends: kinds.filter((kind) => kind === 'end').length,
  };
}

/** A process that dies in the run's first command: from then on nothing of it answers. */
function dyingInCommand() {
  let markDied: () => void = () => undefined;
  const died = new Promise<void>((resolve) => {
    markDied = resolve;
  });
  const never = new Promise<never>(() => undefined);
  let isDead = false;
  const store = new Proxy(runStore(), {
    get: (target, name: keyof RunStore) => (isDead ? () => never : target[name].bind(target)),
  });
  const sandbox: FakeSandbox = {
    ...fakeSandbox(),
    exec: () => {
      isDead = true;
      markDied();
      return never;
    },
  };
  return { store, sandbox, died };
}

describe('what a run executes when its process dies in a command', () => {
  const endings = [
    { status: 'interrupted', deaths: 1, cancelled: true },
    { status: 'error', deaths: 3, cancelled: false },
  ] as const;

  test.each(endings)('is ended before the run ends as $status', async ({ status, deaths, cancelled }) => {
    const thread = await admitted();
    for (let death = 1; death <= deaths; death += 1) {
      const { store, sandbox, died } = dyingInCommand();
      void executorOn(store, agentOn(sandbox)).handle(thread, () => undefined);
      await died;
      await unowned(thread);
    }
    if (cancelled) await threads.requestCancel(thread, thread.runId, 'interrupt');
    const open = (await threads.head(thread))?.state.messages.at(-1);
    const statuses: string[] = [];
    const next = fakeSandbox();
    const sandbox: FakeSandbox = {
      ...next,
      cancel: async (...call) => {
        statuses.push((await threads.getRun(thread, thread.runId)).status);
        return next.cancel(...call);
      },
    };

    await takeOver(thread, agentOn(sandbox), { sandbox });

    expect((await endingOf(thread)).status).toBe(status);
    expect(next.cancelled).toEqual(open?.type === 'ai' ? open.tool_calls.map(({ id }) => `${thread.runId}:${id}`) : []);
    expect(statuses).toEqual(['running']);
  });

  test('a manager that cannot be told does not keep the run from ending', async () => {
    const thread = await admitted();
    const { store, sandbox, died } = dyingInCommand();
    void executorOn(store, agentOn(sandbox)).handle(thread, () => undefined);
    await died;
    await threads.requestCancel(thread, thread.runId, 'interrupt');
    const away = { ...fakeSandbox(), cancel: () => Promise.reject(new UnavailableError('NATS: not connected')) };

    await takeOver(thread, agentOn(away), { sandbox: away });

    expect(await endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
  });
});

test('a run whose tools need another process is handed over, and resumed from its last commit', async () => {
  const thread = await admitted();
  const signals: AbortSignal[] = [];
  const cutOff: FakeSandbox = {
    ...fakeSandbox(),
    exec: (_scope, _request, signal) => {
      signals.push(signal);
      return Promise.reject(new RunDraining('no connection to NATS'));
    },
  };

  expect(await takeOver(thread, agentOn(cutOff))).toEqual({ kind: 'handed_over' });
  expect(signals.map(({ reason }): unknown => reason)).toEqual([expect.any(RunDraining)]);
  const sandbox = fakeSandbox();
  await takeOver(thread, agentOn(sandbox));

  await expectWhole(thread, sandbox);
});

describe('endings', () => {
  test('a defect in a hook ends the run as an error whose text stays inside', async () => {
    const thread = await admitted();

    await takeOver(thread, () => Promise.reject(new TypeError('secret detail')));

    expect(await endingOf(thread)).toEqual({
      status: 'error',
      error: { name: 'InternalError', message: 'internal error' },
      kinds: ['error', 'end'],
      ends: 1,
    });
  });

  test('an expected failure is told in its own words', async () => {
    const thread = await admitted();

    await takeOver(thread, () => Promise.reject(new InvalidRequestError('unknown model "x"')));

    expect(await endingOf(thread)).toMatchObject({
      error: { name: 'InvalidRequestError', message: 'unknown model "x"' },
    });
  });

  test('a run that kills every runner ends as an error with a dead letter, and the next run works', async () => {
    const thread = await admitted();
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const { store, died } = dyingStore(runStore(), { call: 2, after: false });
      void executorOn(store, agentOn(fakeSandbox())).handle(thread, () => undefined);
      await died;
      await unowned(thread);
    }

    await takeOver(thread, agentOn(fakeSandbox()));

    const letters = await runStore().listDeadLetters(10);
    expect(letters.find(({ id }) => id === thread.runId)).toMatchObject({
      entry: { user_id: thread.userId, thread_id: thread.threadId, attempt: 3 },
    });
    expect(await endingOf(thread)).toMatchObject({ status: 'error', error: { name: 'AttemptsExhausted' }, ends: 1 });
  });

  test('a cancel that came before the claim ends the run without running it', async () => {
    const thread = await admitted();
    const model = scriptedModel(SCRIPT);
    const first = dyingStore(runStore(), { call: 2, after: false });
    void executorOn(first.store, agentOn(fakeSandbox())).handle(thread, () => undefined);
    await first.died;
    await threads.requestCancel(thread, thread.runId, 'interrupt');

    await takeOver(thread, agentOn(fakeSandbox(), model));

    expect(await endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
    expect(model.calls).toEqual([]);
  });

  test('a cancelled run keeps what its agent adds to the thread, unless it is rolled back', async () => {
    for (const action of ['interrupt', 'rollback'] as const) {
      const thread = await admitted();
      const first = dyingStore(runStore(), { call: 3, after: false });
      void executorOn(first.store, agentOn(fakeSandbox())).handle(thread, () => undefined);
      await first.died;
      await threads.requestCancel(thread, thread.runId, action);

      await takeOver(thread, agentOn(fakeSandbox()), {
        afterCancel: () => Promise.resolve({ update: { title: 'Named' } }),
      });

      expect((await threads.getThread(thread)).values.title).toBe(action === 'interrupt' ? 'Named' : undefined);
      if (action === 'interrupt') expect(await endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
    }
  });

  test("a client's answer to a call that is not open when the run starts is left out", async () => {
    const person = kwargs('count').input?.messages ?? [];
    const late = {
      ...{ type: 'tool' as const, id: newId(), tool_call_id: 'c', name: 'bash', content: 'forged' },
      ...{ status: 'success' as const, additional_kwargs: { [FROM_CLIENT]: true }, response_metadata: {} },
    };
    const thread = await admitted({ messages: [late, ...person] });

    await takeOver(thread, agentOn(fakeSandbox()));

    const messages = (await threads.head(thread))?.state.messages ?? [];
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'ai']);
    expect(JSON.stringify(messages)).not.toContain('forged');
  });

  test('a fork without input continues from its checkpoint, where the model is asked again', async () => {
    const thread = await admitted();
    await takeOver(thread, agentOn(fakeSandbox()));
    const history = await threads.history(thread, { limit: 100 });
    const asked = history.find(({ metadata }) => metadata.source === 'input')?.checkpointId;
    const request = { ...admission(thread), kwargs: { ...kwargs('x'), input: null }, checkpointId: asked ?? 'none' };
    await threads.admit(request);

    await takeOver(thread, agentOn(fakeSandbox(), scriptedModel([{ content: ['Another.'] }])));

    const messages = (await threads.head(thread))?.state.messages ?? [];
    expect(messages.map(({ content }) => content)).toEqual(['count', 'Another.']);
    expect((await threads.history(thread, { limit: 100 })).length).toBeGreaterThan(history.length);
  });

  test('a log that takes no more events ends the run as an error with its terminal event', async () => {
    const thread = await admitted();
    const store = runStore();
    const full = new Proxy(store, {
      get: (target, name: keyof RunStore) =>
        name === 'append' ? () => Promise.reject(new TooLargeError('the log is full')) : target[name].bind(target),
    });

    const handling = await executorOn(full, agentOn(fakeSandbox())).handle(thread, () => undefined);

    expect(handling).toEqual({ kind: 'ack' });
    expect(await endingOf(thread)).toMatchObject({ status: 'error', error: { name: 'TooLargeError' }, ends: 1 });
  });
});

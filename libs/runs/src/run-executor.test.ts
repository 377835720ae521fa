import { createMetrics, silentTracing } from '@caribou/observability';
import { InvalidRequestError, newId, type RunEvent, type RunKwargs, TooLargeError } from '@caribou/contracts';
import {
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
import type { AfterCancel } from './run-endings.js';
import { type AgentLoop, type Handling, RunExecutor } from './run-executor.js';
import { RunRegistry } from './run-registry.js';

const LEASE_MS = 250;

let server: TestServer;
let redis: RedisConnection;
let threads: ThreadStore;
let log: RunEventLog;

beforeAll(async () => {
  server = await startRedis({ appendonly: false });
  redis = createRedis({ url: server.url, keyPrefix: `${newId()}:` });
  threads = redisThreadStore(redis, { leaseMs: LEASE_MS });
  log = redisEventLog(redis);
});

afterAll(async () => {
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

async function admitted(): Promise<ThreadKey & { readonly runId: string }> {
  const thread = { userId: 'default', threadId: newId() };
  const { run } = await threads.admit({
    ...thread,
    runId: newId(),
    assistantId: 'lead_agent',
    metadata: {},
    kwargs: kwargs('count'),
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

interface More {
  readonly deadLetters?: string[];
  readonly afterCancel?: AfterCancel;
}

function executorOn(store: RunStore, agent: AgentLoop, { deadLetters = [], afterCancel }: More = {}): RunExecutor {
  return new RunExecutor({
    ...(afterCancel === undefined ? {} : { afterCancel }),
    store,
    publisher: { publishEvents: () => undefined },
    registry: new RunRegistry(),
    agent,
    deadLetter: (id) => {
      deadLetters.push(id);
      return Promise.resolve();
    },
    clock: systemClock,
    logger: silentLogger,
    clocks: { leaseMs: LEASE_MS, renewMs: 80 },
    metrics: createMetrics({ service: 'test' }),
    tracing: silentTracing,
  });
}

const runStore = (): RunStore => redisRunStore(redis, { leaseMs: LEASE_MS, maxAttempts: 2 });

/** What a fresh process does with the thread's wake: again and again until it is its turn. */
async function takeOver(thread: ThreadKey, agent: AgentLoop, more: More = {}): Promise<Handling> {
  const executor = executorOn(runStore(), agent, more);
  for (;;) {
    const handling = await executor.handle(thread, () => undefined);
    if (handling.kind !== 'busy') return handling;
    await systemClock.sleep(20);
  }
}

/** The lease of a dead owner has lapsed. */
const unowned = (thread: ThreadKey) =>
  waitFor(async () => (await runStore().listUnowned(100)).some(({ threadId }) => threadId === thread.threadId), {
    what: 'the lease to lapse',
  });

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
    const deadLetters: string[] = [];

    await takeOver(thread, agentOn(fakeSandbox()), { deadLetters });

    expect(deadLetters).toEqual([thread.runId]);
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

import { createMetrics, noopTracing } from '@caribou/observability';
import { newId, type RunEvent, type RunKwargs } from '@caribou/contracts';
import { silentLogger, systemClock, type ThreadKey } from '@caribou/core';
import {
  type RunEventLog,
  type RunStore,
  type ThreadStore,
  createRedis,
  type RedisConnection,
  redisEventLog,
  redisRunStore,
  redisThreadStore,
} from '@caribou/state';
import { runAgent } from '@caribou/agent';
import { leadChain } from '@caribou/middleware';
import {
  deltaTexts,
  type FakeSandbox,
  overNetwork,
  scriptedModel,
  type ScriptedModel,
  startRedis,
  type TestServer,
  transcriptFaults,
  waitFor,
} from '@caribou/testing';
import { leadTools } from '@caribou/tools';
import type { AfterCancel } from '../active-run.js';
import type { EventPublisher } from '../events/event-writer.js';
import { type AgentLoop, type Handling, RunExecutor } from '../run-executor.js';
import type { LeaseKeeper } from '../leases/lease-keeper.js';
import { RunRegistry } from '../run-registry.js';

/** It expires in no test by itself: see `expireLease`. */
export const LEASE_MS = 30_000;

/** One call of bash, then an answer. */
export const SCRIPT = [
  { content: ['Look', 'ing'], calls: [{ name: 'bash', args: { description: 'count', command: 'echo one' } }] },
  { content: ['It says ', 'one.'] },
];

export type RunKey = ThreadKey & { readonly runId: string };

interface ExecutorOptions {
  readonly afterCancel?: AfterCancel;
  readonly sandbox?: FakeSandbox;
  readonly storesTraces?: boolean;
  readonly onMemoryQueued?: (thread: ThreadKey) => void;
  readonly publisher?: EventPublisher;
}

export const kwargs = (text: string): RunKwargs => ({
  input: { messages: [{ type: 'human', id: newId(), content: text, additional_kwargs: {}, response_metadata: {} }] },
  context: {},
  recursion_limit: 10,
  stream_mode: ['values'],
  stream_subgraphs: false,
  on_disconnect: 'continue',
  temporary: false,
});

/** The agent loop with the whole chain, the tools of the lead agent and a scripted model. */
export const agentOn =
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

/** Runs of the scripted agent against a Redis of their own. */
export class RunFixture {
  readonly threads: ThreadStore;
  /** The metrics of all executors. */
  readonly metrics = createMetrics({ service: 'test' });
  private readonly log: RunEventLog;
  /** Keepers of all runs: those of runners that count as dead would renew their leases after the tests too. */
  private readonly keepers: LeaseKeeper[] = [];

  private constructor(
    private readonly server: TestServer,
    readonly redis: RedisConnection,
  ) {
    this.threads = redisThreadStore(redis, { leaseMs: LEASE_MS });
    this.log = redisEventLog(redis);
  }

  static async open(): Promise<RunFixture> {
    const server = await startRedis({ appendonly: false });
    return new RunFixture(server, createRedis({ url: server.url, keyPrefix: `${newId()}:` }));
  }

  async close(): Promise<void> {
    for (const keeper of this.keepers) keeper.stop();
    await this.redis.close();
    await this.server.stop();
  }

  /** The store of a runner that gives a run up after its second attempt. */
  runStore(): RunStore {
    return redisRunStore(this.redis, { leaseMs: LEASE_MS, maxAttempts: 2 });
  }

  async admit(
    input = kwargs('count').input,
    thread: ThreadKey = { userId: 'default', threadId: newId() },
  ): Promise<RunKey> {
    const { run } = await this.threads.admit({
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

  executorOn(store: RunStore, agent: AgentLoop, options: ExecutorOptions = {}): RunExecutor {
    return new RunExecutor({
      publisher: { publishEvents: () => undefined },
      ...options,
      store,
      registry: this.recordKeepers(new RunRegistry()),
      agent,
      clock: systemClock,
      logger: silentLogger,
      clocks: { leaseMs: LEASE_MS, renewMs: LEASE_MS / 3, eventWindowMs: 100 },
      metrics: this.metrics,
      tracing: noopTracing,
    });
  }

  /** Handles the thread's notification in a new executor, as soon as the lease of a dead owner has expired. */
  async takeOver(thread: ThreadKey, agent: AgentLoop, options: ExecutorOptions = {}): Promise<Handling> {
    const executor = this.executorOn(this.runStore(), agent, options);
    for (;;) {
      const handling = await executor.handle(thread);
      if (handling.kind !== 'busy') return handling;
      // A write of the dead owner that was still on its way may have taken the lease again.
      await this.expireLease(thread);
    }
  }

  /** Expires the lease of a dead owner until the store lists the thread as unowned. */
  async waitUntilUnowned(thread: ThreadKey): Promise<void> {
    const isListed = async (): Promise<boolean> => {
      await this.expireLease(thread);
      return (await this.runStore().listUnowned(100)).some(({ threadId }) => threadId === thread.threadId);
    };
    await waitFor(isListed, { what: 'the thread among those without an owner' });
  }

  /** The run as it ended, and the kinds of its last events. */
  async endingOf(thread: RunKey) {
    const run = await this.threads.getRun(thread, thread.runId);
    const kinds = (await this.eventsOf(thread.runId)).map((event) => event.kind);
    return {
      status: run.status,
      error: run.error,
      kinds: kinds.slice(-2),
      ends: kinds.filter((kind) => kind === 'end').length,
    };
  }

  /** Expects what an undisturbed run of `SCRIPT` leaves: transcript, commands, records and events. */
  async expectComplete(thread: RunKey, sandbox: FakeSandbox): Promise<void> {
    const head = await this.threads.head(thread);
    const messages = head?.state.messages ?? [];
    expect(messages.map((message) => [message.type, message.content])).toEqual([
      ['human', 'count'],
      ['ai', 'Looking'],
      ['tool', 'one\n'],
      ['ai', 'It says one.'],
    ]);
    expect(transcriptFaults(messages)).toEqual([]);
    expect(sandbox.executed).toEqual(['echo one']);
    expect((await this.threads.getRun(thread, thread.runId)).status).toBe('success');
    expect(await this.threads.getThread(thread)).toMatchObject({ status: 'idle', values: { title: 'count' } });
    const events = await this.eventsOf(thread.runId);
    expect(events.filter((event) => event.kind === 'end')).toEqual([{ kind: 'end', status: 'success' }]);
    expect(events.at(-1)?.kind).toBe('end');
    const answers = messages.filter((message) => message.type === 'ai').map(({ id, content }) => [id, content]);
    expect([...deltaTexts(events)]).toEqual(answers);
  }

  private async eventsOf(runId: string): Promise<readonly RunEvent[]> {
    const { events } = await this.log.read('default', runId, { after: 0, limit: 1000 });
    const before = [0, ...events.map(({ seq }) => seq)];
    expect(events.map(({ seq, follows = seq - 1 }) => follows)).toEqual(before.slice(0, -1));
    return events.map((entry) => entry.event);
  }

  private expireLease(thread: ThreadKey): Promise<unknown> {
    return this.redis.use((client) => client.del(this.redis.keys.thread(thread).lease));
  }

  private recordKeepers(registry: RunRegistry): RunRegistry {
    const add = registry.add.bind(registry);
    registry.add = (runId, keeper) => {
      this.keepers.push(keeper);
      return add(runId, keeper);
    };
    return registry;
  }
}

/** Opens a fixture before the tests of the file and closes it after them. */
export function useRunFixture(receive: (fixture: RunFixture) => void): void {
  let fixture: RunFixture;

  beforeAll(async () => {
    fixture = await RunFixture.open();
    receive(fixture);
  });

  afterAll(() => fixture.close());
}

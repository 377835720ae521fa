import type { AddressInfo } from 'node:net';
import { runAgent } from '@caribou/agent';
import { connectBus } from '@caribou/bus';
import type { AiMessage, NumberedEvent, RunEvent, RunStatus } from '@caribou/contracts';
import { type AnyTool, applyUpdate, type ModelPort, silentLogger } from '@caribou/core';
import { type RunLease, type RunStore, type ThreadHead, type RedisConnection, redisRunStore } from '@caribou/state';
import { fakeRun } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from './gateway-fixture.js';

export interface Frame {
  readonly event: string;
  readonly id: string;
  readonly data: unknown;
}

export const framesOf = (text: string): Frame[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('event:'))
    .map((block) => {
      const fields = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      return {
        event: fields.get('event') ?? '',
        id: fields.get('id') ?? '',
        data: JSON.parse(fields.get('data') ?? 'null') as unknown,
      };
    });

export const answerOf = (id: string, content: string): AiMessage => ({
  type: 'ai',
  id,
  content,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

/** The body of a request for a run. */
export const runBody = (more: object = {}) => ({
  assistant_id: 'lead_agent',
  input: { messages: [{ role: 'user', content: 'hi' }] },
  ...more,
});

export const runIdOf = (response: Response): string =>
  response.headers.get('content-location')?.split('/').at(-1) ?? '';

export const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

interface ListeningGateway {
  readonly gateway: OpenGateway;
  readonly url: string;
}

/** Two gateways that listen, and what runners need. */
export class RunStreamsFixture {
  constructor(
    readonly gateways: readonly ListeningGateway[],
    readonly redis: RedisConnection,
    readonly runs: RunStore,
    readonly publish: (runId: string, events: readonly NumberedEvent[]) => void,
  ) {}

  urlOf(index: number): string {
    return this.gateways[index]?.url ?? '';
  }

  async newThread(): Promise<string> {
    const response = await post(`${this.urlOf(0)}/threads`, {});
    return ((await response.json()) as { thread_id: string }).thread_id;
  }

  /** Claims the run of a thread and commits its input. */
  async claim(threadId: string): Promise<StreamRunner> {
    const claimed = await this.runs.claim({ userId: 'default', threadId }, `owner-${Math.random()}`);
    if (claimed.kind !== 'run') throw new Error(`nothing to run: ${claimed.kind}`);
    const { lease, run, head } = claimed;
    const start = {
      kind: 'run.start' as const,
      run_id: run.run_id,
      thread_id: threadId,
      attempt: run.attempt,
      dropped_message_ids: [],
      checkpoint_id: null,
    };
    this.publish(lease.runId, await this.runs.append(lease, [start]));
    const { appended, head: committed } = await this.runs.commit(lease, {
      head,
      state: applyUpdate(head.state, run.kwargs.input ?? {}),
      next: ['model_request'],
      source: 'input',
      step: 0,
      events: [],
      inputCommitted: true,
    });
    this.publish(lease.runId, appended);
    return new StreamRunner(this, lease, committed);
  }
}

/** A runner that the test controls step by step, over the real store and bus. */
export class StreamRunner {
  constructor(
    private readonly fixture: RunStreamsFixture,
    readonly lease: RunLease,
    private readonly head: ThreadHead,
  ) {}

  /** Appends a delta of the answer; `silently` does not publish it over NATS. */
  async delta(id: string, content: string, options: { readonly silently?: boolean } = {}): Promise<void> {
    const event: RunEvent = { kind: 'message.delta', node: 'model_request', step: 1, message_id: id, content };
    const appended = await this.fixture.runs.append(this.lease, [event]);
    if (options.silently !== true) this.fixture.publish(this.lease.runId, appended);
  }

  /** Runs the whole loop, with these tools and the answers of this model, as a runner does. */
  async execute(model: ModelPort, tools: readonly AnyTool[]): Promise<void> {
    const { lease, fixture } = this;
    const { runs } = fixture;
    const publish = (events: readonly NumberedEvent[]): void => {
      fixture.publish(lease.runId, events);
    };
    let { head } = this;
    const outcome = await runAgent({
      chain: [],
      tools,
      model,
      systemPrompt: '',
      options: { maxTurns: 10 },
      host: {
        commit: async (turn) => {
          const { appended, head: next } = await runs.commit(lease, { head, source: 'loop', ...turn });
          head = next;
          publish(appended);
          return 'continue';
        },
      },
      run: fakeRun({
        runId: lease.runId,
        threadId: lease.threadId,
        emit: async (event) => {
          publish(await runs.append(lease, [event]));
        },
      }),
      state: head.state,
      step: 0,
      position: 'start',
    });
    if (outcome.kind !== 'finished') throw new Error(`the loop ended as ${outcome.kind}`);
    const commit = { head, source: 'loop' as const, ...outcome.last };
    publish((await runs.finish(lease, { status: 'success', events: [], commit })).appended);
  }

  async finish(status: RunStatus, answer?: AiMessage): Promise<void> {
    const state = applyUpdate(this.head.state, answer === undefined ? {} : { messages: [answer] });
    const failed = status === 'error' ? { error: { name: 'ModelError', message: 'nope' } } : {};
    const events: RunEvent[] = status === 'error' ? [{ kind: 'error', name: 'ModelError', message: 'nope' }] : [];
    const commit = { head: this.head, state, next: [], source: 'loop' as const, step: 1, events: [] };
    const { appended } = await this.fixture.runs.finish(this.lease, { status, events, commit, ...failed });
    this.fixture.publish(this.lease.runId, appended);
  }
}

/** Opens two gateways around the tests of the file. */
export function useRunStreams(receive: (fixture: RunStreamsFixture) => void): void {
  const servers = useGateways();

  beforeAll(async () => {
    const gateways: ListeningGateway[] = [];
    for (let count = 0; count < 2; count += 1) {
      const gateway = await servers.open();
      await gateway.app.listen(0, '127.0.0.1');
      const { port } = gateway.app.getHttpServer().address() as AddressInfo;
      gateways.push({ gateway, url: `http://127.0.0.1:${port}/api` });
    }
    const redis = servers.connectRedis();
    const bus = connectBus({ url: servers.nats.url, name: 'runner', logger: silentLogger, streams: [] });
    servers.closeAtEnd(() => bus.close());
    await bus.waitUntilConnected();
    const publish = (runId: string, events: readonly NumberedEvent[]): void =>
      bus.publishEvents(runId, events, events.at(-1)?.seq ?? 0);
    receive(new RunStreamsFixture(gateways, redis, redisRunStore(redis), publish));
  }, 30_000);
}

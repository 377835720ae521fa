import { newId } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { type RedisConnection, redisRunStore, type RunStore } from '@caribou/state';
import { ai, type Site, type SiteRoute, startSite, waitFor } from '@caribou/testing';
import { applyUpdate } from '@caribou/core';
import type { OpenGateway } from '../open-gateway.js';
import { type GatewayFixture, useGateways } from './gateway-fixture.js';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Answer<Body> {
  readonly status: number;
  readonly body: Body & { readonly detail: string };
}

const KEYS = 'alice-key-1:alice,bob-key-1:bob';
const HOOK_MS = 30_000;

/** What a receiver of webhooks got. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Gateways whose timers are quick, a receiver of webhooks, and a runner that executes what is started. */
export class TimersFixture {
  constructor(
    private readonly fixture: GatewayFixture,
    readonly gateways: readonly OpenGateway[],
    readonly redis: RedisConnection,
    private readonly receiver: Site,
  ) {
    this.runner = redisRunStore(redis);
  }

  readonly runner: RunStore;

  /** A URL of the receiver. */
  hook(path = '/ok'): string {
    return `http://localhost:${this.receiver.port}${path}`;
  }

  deliveries(path = '/ok'): Delivery[] {
    return this.receiver.seen
      .filter(({ url }) => url.split('?')[0] === path)
      .map(({ headers, body }) => ({
        headers: headers as Delivery['headers'],
        body: JSON.parse(body) as Delivery['body'],
      }));
  }

  rawBodies(path = '/ok'): string[] {
    return this.receiver.seen.filter(({ url }) => url.split('?')[0] === path).map(({ body }) => body);
  }

  async send<Body = Record<string, unknown>>(
    method: Method,
    url: string,
    payload?: unknown,
    { user = 'alice', gateway = 0 } = {},
  ): Promise<Answer<Body>> {
    const opened = this.gateways[gateway];
    if (opened === undefined) throw new Error(`there is no gateway ${gateway}`);
    const reply = await opened.app.inject({
      method,
      url: `/api${url}`,
      headers: {
        'x-api-key': `${user}-key-1`,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    });
    return { status: reply.statusCode, body: (reply.body === '' ? {} : reply.json()) as Answer<Body>['body'] };
  }

  async newThread(user = 'alice'): Promise<string> {
    return (await this.send<{ thread_id: string }>('POST', '/threads', {}, { user })).body.thread_id;
  }

  /** Executes the next run of a thread with the answer `done`. Returns its id. */
  async execute(threadId: string, userId = 'alice'): Promise<string> {
    const claimed = await waitFor(
      async () => {
        const claim = await this.runner.claim({ userId, threadId }, newId());
        return claim.kind === 'run' && claim;
      },
      { what: `a run of thread ${threadId}` },
    );
    const { lease, run, head } = claimed;
    const input = { messages: [...(run.kwargs.input?.messages ?? []), ai('done')] };
    const commit = {
      head,
      state: applyUpdate(head.state, input),
      next: [],
      source: 'loop',
      step: 1,
      events: [],
    } as const;
    await this.runner.finish(lease, { status: 'success', commit, events: [] });
    return run.run_id;
  }

  /** Threads of a user that have a run which waits or is under way. */
  async pendingThreads(userId = 'alice'): Promise<string[]> {
    const members = await this.redis.use((client) => client.zrange(this.redis.keys.pending, 0, -1));
    return members.filter((member) => member.startsWith(`${userId}/`)).map((member) => member.slice(userId.length + 1));
  }

  get faults(): readonly string[] {
    return this.fixture.faults;
  }
}

export interface TimersOptions {
  readonly gateways?: number;
  /** Further lines of config.yaml. */
  readonly config?: string;
  readonly routes?: Readonly<Record<string, SiteRoute>>;
  readonly logger?: Logger;
}

const answer =
  (status: number): SiteRoute =>
  (_, response) =>
    void response.writeHead(status).end('seen');

const configOf = (port: number): string =>
  [
    'clocks:',
    '  timer_ms: 50',
    'webhooks:',
    `  allow: ["localhost:${port}"]`,
    '  secret: a-secret-of-the-tests',
    '  retry_ms: 50',
    '  timeout_ms: 500',
    '',
  ].join('\n');

/** Opens gateways with quick timers before the tests of the file. */
export function useTimers(receive: (fixture: TimersFixture) => void, options: TimersOptions = {}): void {
  const fixture = useGateways({ appendonly: false });
  let receiver: Site;
  beforeAll(async () => {
    receiver = await startSite({ '/ok': answer(200), '/gone': answer(410), ...options.routes });
    const config = `${configOf(receiver.port)}${options.config ?? ''}`;
    const gateways: OpenGateway[] = [];
    for (let count = 0; count < (options.gateways ?? 1); count += 1)
      gateways.push(await fixture.open({ config, env: { CARIBOU_API_KEYS: KEYS } }));
    receive(new TimersFixture(fixture, gateways, fixture.connectRedis(), receiver));
  }, HOOK_MS);
  afterAll(() => receiver.stop());
}

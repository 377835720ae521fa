import { newId } from '@caribou/contracts';
import { type ThreadKey } from '@caribou/core';
import { type RedisConnection, redisRunStore, type RunStore } from '@caribou/state';
import { ai, waitFor } from '@caribou/testing';
import { applyUpdate } from '@caribou/core';
import type { OpenGateway } from '../open-gateway.js';
import { type GatewayFixture, useGateways } from './gateway-fixture.js';

const KEYS = 'root-key-1:root:admin,alice-key-1:alice,bob-key-1:bob';
const HOOK_MS = 60_000;

export interface Sent<Body> {
  readonly status: number;
  readonly body: Body & { readonly detail: string };
}

export interface SendOptions {
  readonly as?: 'root' | 'alice' | 'bob';
  readonly gateway?: number;
}

/** Two gateways on the same servers, an administrator (root) and two users, and a runner that the test drives. */
export class AdminClient {
  readonly runner: RunStore;

  constructor(
    readonly fixture: GatewayFixture,
    readonly gateways: readonly OpenGateway[],
    readonly redis: RedisConnection,
  ) {
    this.runner = redisRunStore(redis);
  }

  async send<Body = Record<string, unknown>>(
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    payload?: unknown,
    { as = 'root', gateway = 0 }: SendOptions = {},
  ): Promise<Sent<Body>> {
    const opened = this.gateways[gateway];
    if (opened === undefined) throw new Error(`there is no gateway ${gateway}`);
    const reply = await opened.app.inject({
      method,
      url: `/api${url}`,
      headers: { 'x-api-key': `${as}-key-1`, ...(payload === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    });
    return { status: reply.statusCode, body: (reply.body === '' ? {} : reply.json()) as Sent<Body>['body'] };
  }

  async newThread(as: 'alice' | 'bob' = 'alice'): Promise<ThreadKey> {
    const { body } = await this.send<{ thread_id: string }>('POST', '/threads', {}, { as });
    return { userId: as, threadId: body.thread_id };
  }

  /** Starts a run; returns its id. */
  async start({ userId, threadId }: ThreadKey, more: object = {}): Promise<string> {
    const input = { messages: [{ type: 'human', content: 'hello' }] };
    const body = { assistant_id: 'lead_agent', input, multitask_strategy: 'enqueue', ...more };
    const as = userId as 'alice' | 'bob';
    const reply = await this.send<{ run_id: string }>('POST', `/threads/${threadId}/runs`, body, { as });
    if (reply.status !== 200) throw new Error(`the run was refused: ${reply.body.detail}`);
    return reply.body.run_id;
  }

  claim(thread: ThreadKey) {
    return waitFor(
      async () => {
        const claim = await this.runner.claim(thread, newId());
        return claim.kind === 'run' && claim;
      },
      { what: `a run of thread ${thread.threadId}` },
    );
  }

  /** Ends the next run of the thread with a dead letter; `commits` whether its input is in the thread then. */
  async giveUp(thread: ThreadKey, { commits = false } = {}): Promise<string> {
    const { lease, run, head } = await this.claim(thread);
    const error = { name: 'AttemptsExhausted', message: 'the run never reached its next checkpoint' };
    if (commits)
      await this.runner.commit(lease, {
        head,
        state: applyUpdate(head.state, { messages: [...(run.kwargs.input?.messages ?? [])] }),
        next: ['model_request'],
        source: 'input',
        step: 0,
        events: [],
        inputCommitted: true,
      });
    const entry = { user_id: thread.userId, thread_id: thread.threadId, run_id: run.run_id, error };
    await this.runner.finish(lease, { status: 'error', error, events: [], deadLetter: { id: run.run_id, entry } });
    return `run.${thread.userId}.${run.run_id}`;
  }

  /** Ends the next run of the thread with an answer. */
  async answer(thread: ThreadKey): Promise<string> {
    const { lease, run, head } = await this.claim(thread);
    const messages = [...(run.kwargs.input?.messages ?? []), ai('done')];
    const commit = {
      ...{ head, state: applyUpdate(head.state, { messages }), next: [], source: 'loop' as const, step: 1, events: [] },
    };
    await this.runner.finish(lease, { status: 'success', commit, events: [] });
    return run.run_id;
  }

  /** The audit's lines about a thing, oldest first. */
  async auditOf(what: string): Promise<readonly Record<string, unknown>[]> {
    const { body } = await this.send<{ entries: { line: Record<string, unknown> }[] }>('GET', '/admin/audit?limit=500');
    return body.entries
      .map(({ line }) => line)
      .filter((line) => line['what'] === what)
      .reverse();
  }
}

/** Opens the gateways before the tests of the file. */
export function useAdmin(receive: (client: AdminClient) => void, { config = '' } = {}): void {
  const fixture = useGateways({ appendonly: false });
  beforeAll(async () => {
    const options = { env: { CARIBOU_API_KEYS: KEYS }, ...(config === '' ? {} : { config }) };
    const gateways = [await fixture.open(options), await fixture.open(options)];
    receive(new AdminClient(fixture, gateways, fixture.connectRedis()));
  }, HOOK_MS);
}

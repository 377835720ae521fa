import { newId, type FeedPageReply, type RunReply, type StateUpdate } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { type RunStore, redisRunStore } from '@caribou/state';
import { ai, commitInput } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import type { GatewayFixture, TestGatewayOptions } from './gateway-fixture.js';

const HOOK_MS = 30_000;

/** The user that requests without a key have, where the gateway asks for none. */
const ANYONE = { userId: 'default' };

interface TestUser {
  readonly userId: string;
  readonly key?: string;
}

/** The input of a run with one message of the user, in blocks as the web client sends it. */
export const said = (text: string) => ({ messages: [{ type: 'human', content: [{ type: 'text', text }] }] });

/** A client of the thread routes, and the runner that executes what it starts. */
export class ThreadClient {
  constructor(
    readonly gateway: OpenGateway,
    readonly runner: RunStore,
    private readonly user: TestUser,
  ) {}

  async ask<Body>(path: string, payload?: object, key = this.user.key) {
    const method = payload === undefined ? 'GET' : 'POST';
    const reply = await this.gateway.app.inject({
      method,
      url: `/api/threads${path}`,
      ...(payload && { payload }),
      ...(key !== undefined && { headers: { 'x-api-key': key } }),
    });
    return { status: reply.statusCode, body: reply.json<Body>() };
  }

  async newThread(): Promise<string> {
    return (await this.ask<{ thread_id: string }>('', {})).body.thread_id;
  }

  start(threadId: string, body: object) {
    return this.ask<RunReply & { readonly detail: string }>(`/${threadId}/runs`, {
      assistant_id: 'lead_agent',
      ...body,
    });
  }

  /** Executes the admitted run as a runner does: commits its input, then what it writes. */
  async execute(
    threadId: string,
    written: StateUpdate,
    status: 'success' | 'interrupted' = 'success',
    /** What its tools do. */
    work: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const claimed = await this.runner.claim({ userId: this.user.userId, threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const { lease, run, head } = claimed;
    const asked = await commitInput(this.runner, { lease, run, head });
    await work();
    const state = applyUpdate(asked.head.state, written);
    const commit = { head: asked.head, state, next: [], source: 'loop', step: 1, events: [] } as const;
    await this.runner.finish(lease, { status, events: [], commit });
  }

  /** Starts a run, by default with the text as its input, and answers it with `about <text>`. @returns the id of the run */
  async turn(
    threadId: string,
    text: string,
    body: object = { input: said(text) },
    written: StateUpdate = {},
  ): Promise<string> {
    const { status, body: run } = await this.start(threadId, body);
    if (status !== 200) throw new Error(JSON.stringify(run));
    await this.execute(threadId, { ...written, messages: [ai(`about ${text}`)] });
    return run.run_id;
  }

  async page(threadId: string, query = ''): Promise<FeedPageReply> {
    return (await this.ask<FeedPageReply>(`/${threadId}/messages/page${query}`)).body;
  }

  /** The id of the message with this text, or `none`. */
  async idOf(threadId: string, text: string): Promise<string> {
    const all = await this.page(threadId);
    return all.data[textsOf(all).indexOf(text)]?.content.id ?? 'none';
  }

  async countMessages(threadId: string): Promise<number> {
    const { body } = await this.ask<{ values: { messages: unknown[] } }>(`/${threadId}/state`);
    return body.values.messages.length;
  }
}

export const textsOf = ({ data }: FeedPageReply): string[] =>
  data.map(({ content: { content } }) => (typeof content === 'string' ? content : String(content.map(textOfBlock))));

const textOfBlock = (block: string | Readonly<Record<string, unknown>>): unknown =>
  typeof block === 'string' ? block : block['text'];

/** Opens a gateway before the tests of the file, with a client for `user` of it. */
export function useThreadClient(
  fixture: GatewayFixture,
  receive: (client: ThreadClient) => void,
  { user = ANYONE, ...options }: TestGatewayOptions & { readonly user?: TestUser } = {},
): void {
  beforeAll(async () => {
    const runner = redisRunStore(fixture.connectRedis());
    receive(new ThreadClient(await fixture.open(options), runner, user));
  }, HOOK_MS);
}

import {
  type ApprovalRequest,
  callHashOf,
  type InterruptRecord,
  newId,
  type RunReply,
  type ThreadInterrupts,
} from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { redisRunStore, type RunStore } from '@caribou/state';
import { ai, humanMessage } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from './gateway-fixture.js';

const KEYS = [
  { key: 'key-of-alice', user: 'alice', admin: false },
  { key: 'key-of-bob', user: 'bob', admin: false },
  { key: 'key-of-root', user: 'root', admin: true },
];
const env = {
  CARIBOU_API_KEYS: KEYS.map(({ key, user, admin }) => `${key}:${user}${admin ? ':admin' : ''}`).join(','),
};

/** Who sends a request, and to which gateway. */
export interface Sent {
  readonly as?: 'alice' | 'bob' | 'root';
  readonly via?: OpenGateway;
  readonly headers?: Record<string, string>;
}

/** A page of what waits. */
export interface Listed {
  readonly approvals: readonly { interrupt_id: string; thread_id: string; user_id: string; may_decide: boolean }[];
  readonly next_cursor: string | null;
}

const call = (id: string, args: Record<string, unknown> = { to: 'bob', amount: 5 }) => ({
  name: 'bank_pay',
  args,
  id,
  type: 'tool_call' as const,
});
const SCHEMA = {
  type: 'object',
  properties: { to: { type: 'string' }, amount: { type: 'integer', minimum: 1 } },
  required: ['to', 'amount'],
};

/** An approval of `bank_pay` that waits. */
export function waiting(threadId: string, callId: string, over: Partial<InterruptRecord> = {}): InterruptRecord {
  const value: ApprovalRequest = {
    action_requests: [{ name: 'bank_pay', args: call(callId).args, description: 'pay' }],
    review_configs: [
      { action_name: 'bank_pay', allowed_decisions: ['approve', 'edit', 'reject'], args_schema: SCHEMA },
    ],
    call_hash: callHashOf(threadId, call(callId)),
    tool_call_id: callId,
    reason: { rules: ['money'], message: 'moves money' },
  };
  return {
    id: newId().replaceAll('-', ''),
    kind: 'approval',
    value,
    scope: `tool:${callId}`,
    key: 'approval-request#1',
    run_id: newId(),
    decider: 'owner',
    created_at: '2026-01-05T00:00:00.000Z',
    ...over,
  };
}

/** Two gateways with the users alice, bob and the administrator root; and the runner that executes what they admit. */
export function useApprovals() {
  const fixture = useGateways();
  let first: OpenGateway;
  let second: OpenGateway;
  let runner: RunStore;

  beforeAll(async () => {
    [first, second] = [await fixture.open({ env }), await fixture.open({ env })];
    runner = redisRunStore(fixture.connectRedis());
  }, 60_000);

  async function send<Body>(path: string, payload?: object, { as = 'alice', via = first, headers = {} }: Sent = {}) {
    const reply = await via.app.inject({
      method: payload === undefined ? 'GET' : 'POST',
      url: `/api${path}`,
      ...(payload && { payload }),
      headers: { 'x-api-key': `key-of-${as}`, ...headers },
    });
    return { status: reply.statusCode, body: reply.json<Body & { detail: string }>() };
  }

  /** Executes the next run of a thread as a runner does, and ends it with these open interrupts. */
  async function runUntil(
    userId: string,
    threadId: string,
    open: readonly InterruptRecord[],
  ): Promise<RunReply['kwargs']> {
    const claimed = await runner.claim({ userId, threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const { lease, run, head } = claimed;
    const { interrupts: _before, ...before } = head.state;
    const messages = [
      humanMessage('pay'),
      { ...ai(''), tool_calls: open.map(({ scope }) => call(scope.slice('tool:'.length))) },
    ];
    const interrupts: ThreadInterrupts = {
      open: [...open],
      answered: [],
      continues: { context: { agent_name: undefined, is_plan_mode: true }, recursion_limit: 7 },
    };
    const state = { ...applyUpdate(before, { messages }), ...(open.length > 0 && { interrupts }) };
    const next = open.length > 0 ? (['tools'] as const) : [];
    await runner.finish(lease, {
      status: 'success',
      events: [],
      commit: { head, state, next: [...next], source: 'loop', step: 1, events: [] },
    });
    return run.kwargs;
  }

  /** A thread that waits. */
  async function waitingThread(make: (threadId: string) => readonly InterruptRecord[], as: 'alice' | 'bob' = 'alice') {
    const { body } = await send<{ thread_id: string }>('/threads', {}, { as });
    const threadId = body.thread_id;
    const input = { messages: [{ type: 'human', content: 'x' }] };
    const started = await send(`/threads/${threadId}/runs`, { assistant_id: 'lead_agent', input }, { as });
    if (started.status !== 200) throw new Error(`no run was started: ${JSON.stringify(started)}`);
    const open = make(threadId);
    await runUntil(as, threadId, open);
    return { threadId, open, ids: open.map(({ id }) => id) };
  }

  const decide = (threadId: string, id: string | undefined, body: object, sent: Sent = {}, query = '') =>
    send<RunReply>(`/threads/${threadId}/approvals/${id ?? ''}${query}`, body, sent);
  const resume = (threadId: string, answer: unknown, sent: Sent = {}) =>
    send<RunReply>(`/threads/${threadId}/runs`, { assistant_id: 'lead_agent', command: { resume: answer } }, sent);

  async function auditLines(): Promise<Record<string, unknown>[]> {
    const redis = fixture.connectRedis();
    const entries = await redis.use((client) => client.xrange(redis.keys.audit, '-', '+'));
    return entries.map(([, fields]) => JSON.parse(fields[1] ?? '{}') as Record<string, unknown>);
  }
  const auditOf = async (threadId: string) => (await auditLines()).filter((line) => line['thread_id'] === threadId);

  return {
    fixture,
    gateways: () => [first, second] as const,
    runner: () => runner,
    ...{ send, runUntil, waitingThread, decide, resume, auditOf },
  };
}

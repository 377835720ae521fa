import {
  ApprovalRequest,
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
import { useGateways } from '../testing/gateway-fixture.js';

jest.setTimeout(60_000);

const KEYS = [
  { key: 'key-of-alice', user: 'alice', admin: false },
  { key: 'key-of-bob', user: 'bob', admin: false },
  { key: 'key-of-root', user: 'root', admin: true },
];
const env = {
  CARIBOU_API_KEYS: KEYS.map(({ key, user, admin }) => `${key}:${user}${admin ? ':admin' : ''}`).join(','),
};

const fixture = useGateways();
let first: OpenGateway;
let second: OpenGateway;
let runner: RunStore;

beforeAll(async () => {
  [first, second] = [await fixture.open({ env }), await fixture.open({ env })];
  runner = redisRunStore(fixture.connectRedis());
}, 60_000);

interface Sent {
  readonly as?: 'alice' | 'bob' | 'root';
  readonly via?: OpenGateway;
  readonly headers?: Record<string, string>;
}

async function send<Body>(path: string, payload?: object, { as = 'alice', via = first, headers = {} }: Sent = {}) {
  const reply = await via.app.inject({
    method: payload === undefined ? 'GET' : 'POST',
    url: `/api${path}`,
    ...(payload && { payload }),
    headers: { 'x-api-key': `key-of-${as}`, ...headers },
  });
  return { status: reply.statusCode, body: reply.json<Body & { detail: string }>() };
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

function waiting(threadId: string, callId: string, over: Partial<InterruptRecord> = {}): InterruptRecord {
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
  await send(
    `/threads/${threadId}/runs`,
    { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'x' }] } },
    { as },
  );
  const open = make(threadId);
  await runUntil(as, threadId, open);
  return { threadId, open, ids: open.map(({ id }) => id) };
}

const decide = (threadId: string, id: string | undefined, body: object, sent: Sent = {}, query = '') =>
  send<RunReply>(`/threads/${threadId}/approvals/${id ?? ''}${query}`, body, sent);
const resume = (threadId: string, answer: unknown, sent: Sent = {}) =>
  send<RunReply>(`/threads/${threadId}/runs`, { assistant_id: 'lead_agent', command: { resume: answer } }, sent);

interface Listed {
  readonly approvals: readonly { interrupt_id: string; thread_id: string; user_id: string; may_decide: boolean }[];
  readonly next_cursor: string | null;
}

async function auditLines(): Promise<Record<string, unknown>[]> {
  const redis = fixture.connectRedis();
  const entries = await redis.use((client) => client.xrange(redis.keys.audit, '-', '+'));
  return entries.map(([, fields]) => JSON.parse(fields[1] ?? '{}') as Record<string, unknown>);
}
const auditOf = async (threadId: string) => (await auditLines()).filter((line) => line['thread_id'] === threadId);

describe('deciding about a call', () => {
  test('starts the run that continues, once: the second press is refused, and the audit has one line', async () => {
    const { threadId, ids, open } = await waitingThread((id) => [waiting(id, 'call_1')]);
    const approve = { type: 'approve', call_hash: (open[0]?.value as ApprovalRequest).call_hash };
    const decided = await decide(threadId, ids[0], approve);
    expect(decided).toMatchObject({ status: 200, body: { thread_id: threadId, status: 'pending' } });
    expect((await decide(threadId, ids[0], approve)).status).toBe(409);

    const kwargs = await runUntil('alice', threadId, []);
    expect(kwargs).toMatchObject({
      command: { answers: { [ids[0] ?? '']: { decisions: [{ type: 'approve' }] } }, answered_by: 'alice' },
      context: { is_plan_mode: true },
      recursion_limit: 7,
    });
    expect((await decide(threadId, ids[0], approve)).status).toBe(409);
    expect((await resume(threadId, 'yes')).status).toBe(409);
    expect(await auditOf(threadId)).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        id: expect.any(String),
        operation: 'approval',
        user_id: 'alice',
        thread_id: threadId,
        run_id: decided.body.run_id,
        interrupt_id: ids[0],
        tool_call_id: 'call_1',
        call_hash: approve.call_hash,
        what: 'bank_pay {"to":"bob","amount":"5"}',
        rules: ['money'],
        verdict: 'approve',
        decided_by: 'alice',
        decided_from: '127.0.0.1',
      },
    ]);
  });

  test('two people press at the same moment on two gateways: one wins', async () => {
    const { threadId, ids } = await waitingThread((id) => [waiting(id, 'call_1')]);
    const pressed = await Promise.all([
      decide(threadId, ids[0], { type: 'approve' }),
      decide(threadId, ids[0], { type: 'reject' }, { as: 'root', via: second }, '?user_id=alice'),
      resume(threadId, { decisions: [{ type: 'approve' }] }, { via: second }),
    ]);
    expect(pressed.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(await auditOf(threadId)).toHaveLength(1);
  });

  test('the same Idempotency-Key gives the same run', async () => {
    const { threadId, ids } = await waitingThread((id) => [waiting(id, 'call_1')]);
    const headers = { 'idempotency-key': newId() };
    const [one, two] = [
      await decide(threadId, ids[0], { type: 'reject' }, { headers }),
      await decide(threadId, ids[0], { type: 'reject' }, { headers }),
    ];
    expect([one.status, two.status]).toEqual([200, 200]);
    expect(two.body.run_id).toBe(one.body.run_id);
    expect(await auditOf(threadId)).toHaveLength(1);
  });

  test.each([
    [{ type: 'respond', message: 'x' }, 422, 'decisions[0].type: must be one of approve, edit, reject'],
    [{ type: 'maybe' }, 422, 'decisions[0].type'],
    [{ type: 'edit' }, 422, 'decisions[0].edited_action: is needed'],
    [{ type: 'edit', edited_action: { name: 'bash', args: {} } }, 422, 'edited_action.name: must be bank_pay'],
    [{ type: 'edit', edited_action: { name: 'bank_pay', args: { to: 'bob' } } }, 422, 'edited_action.args.amount'],
    [{ type: 'edit', editedAction: { name: 'bank_pay', args: { to: 'bob', amount: 0 } } }, 422, 'args.amount'],
    [{ type: 'approve', call_hash: 'f'.repeat(64) }, 409, 'call_hash: interrupt'],
    [{ note: 'x' }, 422, 'must have "type"'],
  ])('%j is refused with %s', async (body, status, detail) => {
    const { threadId, ids } = await waitingThread((id) => [waiting(id, 'call_1')]);
    const refused = await decide(threadId, ids[0], body);
    expect(refused).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
    expect((await decide(threadId, ids[0], { type: 'approve' })).status).toBe(200);
  });

  test('an id that is not open is 409, a thread of another user 404', async () => {
    const { threadId, ids } = await waitingThread((id) => [waiting(id, 'call_1')]);
    expect((await decide(threadId, 'f'.repeat(32), { type: 'approve' })).status).toBe(409);
    expect((await decide(threadId, ids[0], { type: 'approve' }, { as: 'bob' })).status).toBe(404);
    expect((await decide(threadId, ids[0], { type: 'approve' }, { as: 'bob' }, '?user_id=alice')).status).toBe(404);
    expect((await send(`/threads/${threadId}/approvals`, undefined, { as: 'bob' })).status).toBe(404);
    expect((await resume(threadId, { decisions: [{ type: 'approve' }] }, { as: 'bob' })).status).toBe(404);
  });

  test('where only administrators decide, the owner may not, and an administrator does so on the thread of the owner', async () => {
    const { threadId, ids } = await waitingThread((id) => [waiting(id, 'call_1', { decider: 'admin' })]);
    expect((await decide(threadId, ids[0], { type: 'approve' })).status).toBe(403);
    expect((await resume(threadId, { decisions: [{ type: 'approve' }] })).status).toBe(403);
    const decided = await decide(threadId, ids[0], { type: 'reject', message: 'no' }, { as: 'root' }, '?user_id=alice');
    expect(decided.status).toBe(200);
    expect(await runUntil('alice', threadId, [])).toMatchObject({
      command: { answers: { [ids[0] ?? '']: { decisions: [{ type: 'reject', message: 'no' }] } }, answered_by: 'root' },
    });
    expect(await auditOf(threadId)).toMatchObject([{ user_id: 'alice', decided_by: 'root', verdict: 'reject' }]);
  });

  test("LangChain's list of decisions is for the calls in their order; another count is refused", async () => {
    const { threadId, ids } = await waitingThread((id) => [waiting(id, 'call_1'), waiting(id, 'call_2')]);
    expect((await resume(threadId, { decisions: [{ type: 'approve' }] })).status).toBe(422);
    expect((await resume(threadId, { decisions: [{ type: 'approve' }, { type: 'reject' }] })).status).toBe(200);
    const { command } = await runUntil('alice', threadId, []);
    expect(command).toMatchObject({
      answers: {
        [ids[0] ?? '']: { decisions: [{ type: 'approve' }] },
        [ids[1] ?? '']: { decisions: [{ type: 'reject' }] },
      },
    });
  });

  test('several calls are decided one after the other by several people', async () => {
    const { threadId, ids, open } = await waitingThread((id) => [waiting(id, 'call_1'), waiting(id, 'call_2')]);
    expect((await decide(threadId, ids[1], { type: 'approve' })).status).toBe(200);
    expect((await decide(threadId, ids[0], { type: 'approve' })).status).toBe(409);
    await runUntil('alice', threadId, open.slice(0, 1));
    const left = await send<readonly { interrupt_id: string }[]>(`/threads/${threadId}/approvals`);
    expect(left.body.map(({ interrupt_id: id }) => id)).toEqual([ids[0]]);
    expect((await decide(threadId, ids[0], { type: 'approve' }, { as: 'root' }, '?user_id=alice')).status).toBe(200);
    expect((await auditOf(threadId)).map((line) => line['decided_by'])).toEqual(['alice', 'root']);
  });
});

describe('the list of what waits', () => {
  test('has pages, and only what belongs to the caller; administrators see all users', async () => {
    const mine = [];
    for (let n = 0; n < 3; n += 1) mine.push(await waitingThread((id) => [waiting(id, 'call_1')], 'bob'));
    const page = await send<Listed>('/approvals?limit=2', undefined, { as: 'bob' });
    expect(page.body.approvals.map(({ interrupt_id: id }) => id)).toEqual(mine.slice(0, 2).flatMap(({ ids }) => ids));
    const rest = await send<Listed>(`/approvals?limit=2&cursor=${page.body.next_cursor ?? ''}`, undefined, {
      as: 'bob',
    });
    expect(rest.body).toMatchObject({
      approvals: [{ interrupt_id: mine[2]?.ids[0], may_decide: true }],
      next_cursor: null,
    });

    const all = await send<Listed>('/approvals?limit=100', undefined, { as: 'root' });
    expect(new Set(all.body.approvals.map(({ user_id: user }) => user))).toEqual(new Set(['alice', 'bob']));
    const ofBob = await send<Listed>('/approvals?user_id=bob', undefined, { as: 'root' });
    expect(ofBob.body.approvals).toHaveLength(3);
    expect((await send('/approvals?user_id=bob')).status).toBe(404);
    expect((await send('/approvals?cursor=x')).status).toBe(422);
  });

  test('drops a thread that was deleted, and one that waits no longer', async () => {
    const gone = await waitingThread((id) => [waiting(id, 'call_1')]);
    const { app } = first;
    await app.inject({
      method: 'DELETE',
      url: `/api/threads/${gone.threadId}`,
      headers: { 'x-api-key': 'key-of-alice' },
    });
    const redis = fixture.connectRedis();
    await redis.use((client) => client.zadd(redis.keys.interrupted('alice'), 1, gone.threadId));
    const { body } = await send<Listed>('/approvals?limit=100');
    expect(body.approvals.map(({ thread_id: id }) => id)).not.toContain(gone.threadId);
    const listed = await redis.use((client) => client.zscore(redis.keys.interrupted('alice'), gone.threadId));
    expect(listed).toBeNull();
  });
});

describe('a question that ended its run', () => {
  const QUESTION = {
    version: 1,
    kind: 'human_input_request',
    source: 'ask_clarification',
    request_id: 'clarification:call_q',
    question: 'Which one?',
    input_mode: 'choice_with_other',
    options: [{ id: 'option-1', label: 'red', value: 'red' }],
  };

  async function questionedThread(): Promise<string> {
    const { body } = await send<{ thread_id: string }>('/threads', {});
    const threadId = body.thread_id;
    await send(`/threads/${threadId}/runs`, {
      assistant_id: 'lead_agent',
      input: { messages: [{ type: 'human', content: 'x' }] },
    });
    const claimed = await runner.claim({ userId: 'alice', threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const { lease, head } = claimed;
    const asks = { name: 'ask_clarification', args: {}, id: 'call_q', type: 'tool_call' as const };
    const asked = {
      ...{ type: 'tool' as const, id: 'clarification:call_q', content: '❓ Which one?', name: 'ask_clarification' },
      ...{ tool_call_id: 'call_q', status: 'success' as const, additional_kwargs: {}, response_metadata: {} },
      artifact: { human_input: QUESTION },
    };
    const state = applyUpdate(head.state, { messages: [humanMessage('x'), { ...ai(''), tool_calls: [asks] }, asked] });
    await runner.finish(lease, {
      status: 'success',
      events: [],
      commit: { head, state, next: [], source: 'loop', step: 1, events: [] },
    });
    return threadId;
  }

  test('is listed among what waits, while the thread is shown as before', async () => {
    const threadId = await questionedThread();
    const thread = await send<{ status: string; interrupts: object }>(`/threads/${threadId}`);
    expect(thread.body).toMatchObject({ status: 'idle', interrupts: {} });
    const { body } = await send<readonly { interrupt_id: string }[]>(`/threads/${threadId}/approvals`);
    expect(body).toMatchObject([{ kind: 'question', value: QUESTION, run_id: null, may_decide: true }]);
    const all = await send<Listed>('/approvals?limit=100');
    expect(all.body.approvals.map(({ thread_id: id }) => id)).toContain(threadId);
  });

  test.each<[string, (id: string) => readonly [string, object]]>([
    ['command.resume', () => ['runs', { assistant_id: 'lead_agent', command: { resume: 'red' } }]],
    ['command.resume by id', (id) => ['runs', { assistant_id: 'lead_agent', command: { resume: { [id]: 'red' } } }]],
    ['the route', (id) => [`approvals/${id}`, { answer: 'red' }]],
  ])('is answered once by %s, as by the message of a web client', async (_, requestOf) => {
    const threadId = await questionedThread();
    const { body } = await send<readonly { interrupt_id: string }[]>(`/threads/${threadId}/approvals`);
    const [path, payload] = requestOf(body[0]?.interrupt_id ?? '');
    const pressed = await Promise.all(
      [first, second].map((via) => send(`/threads/${threadId}/${path}`, payload, { via })),
    );
    expect(pressed.map(({ status }) => status).sort()).toEqual([200, 409]);

    const kwargs = await runUntil('alice', threadId, []);
    expect(kwargs).toMatchObject({
      input: {
        messages: [
          {
            type: 'human',
            content: 'red',
            additional_kwargs: {
              human_input_response: {
                ...{ version: 1, kind: 'human_input_response', source: 'ask_clarification' },
                ...{ request_id: 'clarification:call_q', value: 'red', response_kind: 'option', option_id: 'option-1' },
              },
            },
          },
        ],
      },
    });
    expect((await send(`/threads/${threadId}/${path}`, payload)).status).toBe(409);
    const all = await send<Listed>('/approvals?limit=100');
    expect(all.body.approvals.map(({ thread_id: id }) => id)).not.toContain(threadId);
  });
});

describe('deadlines', () => {
  const expiring = (threadId: string, expiresMs: number) =>
    waiting(threadId, 'call_1', {
      expires_ms: expiresMs,
      on_expiry: { decisions: [{ type: 'reject', message: 'late' }] },
    });

  test('what is due is answered once, although two gateways look at the same time', async () => {
    const { threadId, ids } = await waitingThread((id) => [expiring(id, Date.now() - 1)]);
    const sweeps = [first, second].map(({ app }) =>
      app.get<{ sweep(): Promise<number> }>('interruptDeadlines').sweep(),
    );
    await Promise.all(sweeps);
    const runs = await send<readonly RunReply[]>(`/threads/${threadId}/runs`);
    expect(runs.body).toHaveLength(2);
    expect(await runUntil('alice', threadId, [])).toMatchObject({
      command: { answers: { [ids[0] ?? '']: { decisions: [{ type: 'reject', message: 'late' }] } } },
    });
    expect(await auditOf(threadId)).toMatchObject([{ verdict: 'reject' }]);
    expect((await auditOf(threadId))[0]).not.toHaveProperty('decided_by');
  });

  test('a decision after the deadline is refused, also before a gateway has seen the deadline', async () => {
    const { threadId, ids } = await waitingThread((id) => [expiring(id, Date.now() - 1)]);
    const late = await decide(threadId, ids[0], { type: 'approve' });
    expect(late.status).toBe(409);
  });

  test('a decision and the deadline at the same moment: one of them wins', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { threadId, ids } = await waitingThread((id) => [expiring(id, Date.now() + 2 * round)]);
      const sweep = async () => {
        const deadlines = second.app.get<{ sweep(): Promise<number> }>('interruptDeadlines');
        while ((await send<readonly RunReply[]>(`/threads/${threadId}/runs`)).body.length < 2) await deadlines.sweep();
      };
      const pressed = async () => {
        for (;;) {
          const { status } = await decide(threadId, ids[0], { type: 'approve' });
          if (status !== 503) return status;
        }
      };
      const [, status] = await Promise.all([sweep(), pressed()]);
      const lines = await auditOf(threadId);
      expect(lines).toHaveLength(1);
      expect(lines[0]?.['verdict']).toBe(status === 200 ? 'approve' : 'reject');
      await runUntil('alice', threadId, []);
    }
  });
});

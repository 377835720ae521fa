import type { AddressInfo } from 'node:net';
import { type ApprovalRequest, type InterruptRecord, newId } from '@caribou/contracts';
import { InterruptDeadlines } from '../approvals/interrupt-deadlines.js';
import { SocketClient, type WireReply } from '../testing/protocol-client.js';
import { type Sent, useApprovals, waiting } from '../testing/approvals-fixture.js';

const { gateways, send, runUntil, waitingThread, decide, resume, auditOf } = useApprovals();
const sockets: SocketClient[] = [];

beforeAll(() => Promise.all(gateways().map(({ app }) => app.listen(0, '127.0.0.1'))));
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
});

async function socketAt(gateway: 0 | 1, threadId: string, as = 'alice'): Promise<SocketClient> {
  const { port } = gateways()[gateway].app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/api/threads/${threadId}/stream/events`;
  const socket = await SocketClient.open(url, { headers: { 'x-api-key': `key-of-${as}` } });
  sockets.push(socket);
  return socket;
}

const command = async (threadId: string, method: string, params: object, sent: Sent = {}): Promise<WireReply> =>
  (await send<WireReply>(`/threads/${threadId}/commands`, { id: 1, method, params }, sent)).body;
const respond = (threadId: string, id: string | undefined, decision: object, sent: Sent = {}) =>
  command(threadId, 'input.respond', { interrupt_id: id, response: { decisions: [decision] } }, sent);

const APPROVE = { type: 'approve' };
const onePayment = (over: Partial<InterruptRecord> = {}) =>
  waitingThread((threadId) => [waiting(threadId, 'call_1', over)]);

/** The ways to decide about a call; each answers 'taken', or the error that its clients get. */
const doors = {
  'the route': async (threadId: string, id: string, via: 0 | 1) =>
    statusOf(await decide(threadId, id, APPROVE, { via: gateways()[via] })),
  'command.resume': async (threadId: string, _id: string, via: 0 | 1) =>
    statusOf(await resume(threadId, { decisions: [APPROVE] }, { via: gateways()[via] })),
  'input.respond': async (threadId: string, id: string, via: 0 | 1) =>
    codeOf(await respond(threadId, id, APPROVE, { via: gateways()[via] })),
  'run.start': async (threadId: string, _id: string, via: 0 | 1) =>
    codeOf(
      await command(
        threadId,
        'run.start',
        { assistant_id: 'lead_agent', input: { decisions: [APPROVE] } },
        { via: gateways()[via] },
      ),
    ),
  'a socket': async (threadId: string, id: string, via: 0 | 1) =>
    codeOf(
      await (await socketAt(via, threadId)).send('input.respond', {
        interrupt_id: id,
        response: { decisions: [APPROVE] },
      }),
    ),
};
type Door = keyof typeof doors;

const statusOf = ({ status }: { readonly status: number }) => (status === 200 ? 'taken' : status);
const codeOf = ({ type, error }: WireReply) => (type === 'success' ? 'taken' : error);

describe('a decision that is pressed at two doors at once, on two gateways', () => {
  test.each<[Door, Door]>([
    ['the route', 'input.respond'],
    ['command.resume', 'a socket'],
    ['a socket', 'input.respond'],
    ['a socket', 'a socket'],
    ['input.respond', 'run.start'],
    ['run.start', 'run.start'],
  ])('%s and %s: one wins, the other is told that nothing waits', async (one, other) => {
    for (let round = 0; round < 3; round += 1) {
      const { threadId, ids } = await onePayment();
      const id = ids[0] ?? '';
      const outcomes = await Promise.all([doors[one](threadId, id, 0), doors[other](threadId, id, 1)]);
      const lost = outcomes.filter((outcome) => outcome !== 'taken');
      expect(lost).toHaveLength(1);
      const isHttp = (door: Door): boolean => door === 'the route' || door === 'command.resume';
      const loser = outcomes[0] === 'taken' ? other : one;
      expect(lost).toEqual([isHttp(loser) ? 409 : 'no_such_interrupt']);
      expect(await auditOf(threadId)).toMatchObject([{ verdict: 'approve', decided_by: 'alice', interrupt_id: id }]);
      // Pressed again, while the run that continues is under way, and after it.
      expect(codeOf(await respond(threadId, id, APPROVE))).toBe('no_such_interrupt');
      await runUntil('alice', threadId, []);
      expect(codeOf(await respond(threadId, id, APPROVE))).toBe('no_such_interrupt');
      expect(await auditOf(threadId)).toHaveLength(1);
    }
  });

  test('each of two calls is decided by another door: the second is refused until the first is carried out', async () => {
    const { threadId, ids, open } = await waitingThread((id) => [waiting(id, 'call_1'), waiting(id, 'call_2')]);
    const pressed = await Promise.all([
      doors['a socket'](threadId, ids[0] ?? '', 0),
      doors['input.respond'](threadId, ids[1] ?? '', 1),
    ]);
    expect(pressed.map(String).sort()).toEqual(['no_such_interrupt', 'taken']);
    const left = pressed[0] === 'taken' ? 1 : 0;
    await runUntil('alice', threadId, open.slice(left, left + 1));
    expect(codeOf(await respond(threadId, ids[left], APPROVE))).toBe('taken');
    expect(await auditOf(threadId)).toHaveLength(2);
  });
});

describe('a repeated request with an Idempotency-Key', () => {
  test.each([
    ['input.respond', (id: string) => ({ interrupt_id: id, response: { decisions: [APPROVE] } })],
    ['run.start', () => ({ assistant_id: 'lead_agent', input: { decisions: [APPROVE] } })],
  ])('%s answers as the first one', async (method, paramsOf) => {
    const { threadId, ids } = await onePayment();
    const headers = { 'idempotency-key': newId() };
    const first = await command(threadId, method, paramsOf(ids[0] ?? ''), { headers });
    expect(first).toMatchObject({ type: 'success' });
    expect(await command(threadId, method, paramsOf(ids[0] ?? ''), { headers, via: gateways()[1] })).toEqual(first);
    await runUntil('alice', threadId, []);
    expect(await command(threadId, method, paramsOf(ids[0] ?? ''), { headers })).toEqual(first);
    expect(await auditOf(threadId)).toHaveLength(1);
  });
});

describe('a decision after the deadline', () => {
  test.each<Door>(['input.respond', 'a socket', 'run.start'])(
    '%s is refused, before and after the deadline is carried out',
    async (door) => {
      const onExpiry = { decisions: [{ type: 'reject', message: 'late' }] };
      const { threadId, ids } = await onePayment({ expires_ms: Date.now() - 1, on_expiry: onExpiry });
      expect(await doors[door](threadId, ids[0] ?? '', 0)).toBe('no_such_interrupt');
      // A gateway's own sweep may have been first; a person's decision is not there in any case.
      expect((await auditOf(threadId)).map(({ verdict }) => verdict)).not.toContain('approve');
      await gateways()[1].app.get(InterruptDeadlines).sweep();
      expect(await doors[door](threadId, ids[0] ?? '', 0)).toBe('no_such_interrupt');
      const lines = await auditOf(threadId);
      expect(lines).toMatchObject([{ verdict: 'reject' }]);
      expect(lines[0]).not.toHaveProperty('decided_by');
    },
  );
});

describe('a decision that is not possible', () => {
  const edit = (args: object) => ({ type: 'edit', edited_action: { name: 'bank_pay', args } });

  test.each<[string, object, string, string]>([
    ['a type that is not allowed', { type: 'respond', message: 'x' }, 'invalid_argument', 'decisions[0].type'],
    ['an unknown type', { type: 'maybe' }, 'invalid_argument', 'decisions[0].type'],
    ['another tool', { type: 'edit', edited_action: { name: 'bash', args: {} } }, 'invalid_argument', '.name'],
    ['an argument too few', edit({ to: 'bob' }), 'invalid_argument', 'edited_action.args.amount'],
    [
      'an unknown argument',
      edit({ to: 'bob', amount: 1, ammount: 2 }),
      'invalid_argument',
      'edited_action.args.ammount: the tool has no such argument; it has to, amount',
    ],
    ['another call', { ...APPROVE, call_hash: 'f'.repeat(64) }, 'invalid_argument', 'call_hash'],
  ])('%s: the call still waits', async (_what, decision, error, text) => {
    const { threadId, ids, open } = await onePayment();
    const overHttp = await respond(threadId, ids[0], decision);
    const params = { interrupt_id: ids[0], response: { decisions: [decision] } };
    const onSocket = await (await socketAt(1, threadId)).send('input.respond', params);
    for (const reply of [overHttp, onSocket])
      expect(reply).toMatchObject({ type: 'error', error, message: expect.stringContaining(text) });
    expect(await auditOf(threadId)).toEqual([]);
    const { call_hash } = open[0]?.value as ApprovalRequest;
    expect(codeOf(await respond(threadId, ids[0], { ...APPROVE, call_hash }))).toBe('taken');
  });

  test.each<[string, (id: string) => object, string, string]>([
    ['an id that is not open', () => ({ interrupt_id: 'f'.repeat(32), response: 1 }), 'no_such_interrupt', 'f'],
    ['an id of another form', () => ({ interrupt_id: 'x', response: 1 }), 'no_such_interrupt', 'x'],
    ['no id', () => ({ response: 1 }), 'invalid_argument', 'interrupt_id'],
    [
      'an id twice',
      (id) => ({ responses: [{ interrupt_id: id, response: 1 }, { interrupt_id: id }] }),
      'invalid_argument',
      'params.responses[1].interrupt_id',
    ],
    ['no decision', (id) => ({ interrupt_id: id, response: 'yes' }), 'invalid_argument', 'the answer'],
  ])('%s: nothing is stored', async (_what, paramsOf, error, text) => {
    const { threadId, ids } = await onePayment();
    const reply = await command(threadId, 'input.respond', paramsOf(ids[0] ?? ''));
    expect(reply).toMatchObject({ type: 'error', error, message: expect.stringContaining(text) });
    expect(await auditOf(threadId)).toEqual([]);
    expect(codeOf(await respond(threadId, ids[0], APPROVE))).toBe('taken');
  });

  test('by another user it is as on a thread that does not exist', async () => {
    const { threadId, ids } = await onePayment();
    const refused = await respond(threadId, ids[0], APPROVE, { as: 'bob' });
    const nowhere = newId();
    const unknown = await respond(nowhere, ids[0], APPROVE, { as: 'bob' });
    expect(refused).toMatchObject({ type: 'error', error: 'no_such_interrupt' });
    expect(refused.message?.replaceAll(threadId, '')).toBe(unknown.message?.replaceAll(nowhere, ''));
    const params = { interrupt_id: ids[0], response: { decisions: [APPROVE] } };
    expect(codeOf(await (await socketAt(1, threadId, 'bob')).send('input.respond', params))).toBe('no_such_interrupt');
    expect(codeOf(await respond(threadId, ids[0], APPROVE))).toBe('taken');
  });

  test('where only administrators decide, the owner gets permission_denied', async () => {
    const { threadId, ids } = await onePayment({ decider: 'admin' });
    expect(codeOf(await respond(threadId, ids[0], APPROVE))).toBe('permission_denied');
    expect(await auditOf(threadId)).toEqual([]);
    expect((await decide(threadId, ids[0], APPROVE, { as: 'root' }, '?user_id=alice')).status).toBe(200);
  });
});

import { type ApprovalRequest, newId } from '@caribou/contracts';
import { type Listed, useApprovals, waiting } from '../testing/approvals-fixture.js';

const { fixture, gateways, send, runUntil, waitingThread, decide, resume, auditOf } = useApprovals();

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
      decide(threadId, ids[0], { type: 'reject' }, { as: 'root', via: gateways()[1] }, '?user_id=alice'),
      resume(threadId, { decisions: [{ type: 'approve' }] }, { via: gateways()[1] }),
    ]);
    expect(pressed.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409]);
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
    const [{ app }] = gateways();
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

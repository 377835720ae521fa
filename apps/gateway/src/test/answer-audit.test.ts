import type { InterruptRecord } from '@caribou/contracts';
import { InterruptDeadlines } from '../approvals/interrupt-deadlines.js';
import { useApprovals, waiting } from '../testing/approvals-fixture.js';

const { gateways, send, waitingThread, resume, decide, auditOf } = useApprovals();

const asking = (over: Partial<InterruptRecord> = {}) =>
  waitingThread((threadId) => [
    waiting(threadId, 'call_1', { kind: 'question', value: { question: 'May I paint?' }, key: '1', ...over }),
  ]);

describe('the audit of answers', () => {
  test('says who answered which question of a tool, when, with what, and by which run', async () => {
    const { threadId, ids } = await asking();
    const { body } = await resume(threadId, 'yes');
    expect(await auditOf(threadId)).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        id: expect.any(String),
        operation: 'answer',
        user_id: 'alice',
        thread_id: threadId,
        run_id: body.run_id,
        interrupt_id: ids[0],
        tool_call_id: 'call_1',
        what: 'May I paint?',
        verdict: 'answer',
        answer: 'yes',
        decided_by: 'alice',
        decided_from: '127.0.0.1',
      },
    ]);
    expect((await resume(threadId, 'no')).status).toBe(409);
    expect(await auditOf(threadId)).toHaveLength(1);
  });

  test('an administrator who answers for the owner is named', async () => {
    const { threadId, ids } = await asking({ scope: 'asking.before_model', value: 'go on?' });
    await decide(threadId, ids[0], { answer: true }, { as: 'root' }, '?user_id=alice');
    const [line] = await auditOf(threadId);
    expect(line).toMatchObject({ user_id: 'alice', decided_by: 'root', what: 'go on?', answer: 'true' });
    expect(line).not.toHaveProperty('tool_call_id');
  });

  test('has an answer over the protocol, and one to a paused run', async () => {
    const { threadId, ids } = await asking({ kind: 'paused', value: { type: 'paused', run_id: 'r' } });
    const params = { interrupt_id: ids[0], response: true };
    await send(`/threads/${threadId}/commands`, { id: 1, method: 'input.respond', params });
    const line = { operation: 'answer', what: '{"type":"paused","run_id":"r"}', answer: 'true', decided_by: 'alice' };
    expect(await auditOf(threadId)).toMatchObject([line]);
  });

  test.each([
    [{ question: 'Your password, please?' }, 'hunter2', '(left out)'],
    [{ question: 'Which author?' }, 'Ann', 'Ann'],
    [{ question: 'How?' }, { user: 'ann', api_key: 'hunter2' }, '{"user":"ann","api_key":"(left out)"}'],
    [{ question: 'How?' }, 'x'.repeat(300), `${'x'.repeat(200)}…`],
  ])('%j: secrets are left out and long answers cut', async (value, answer, shown) => {
    const { threadId } = await asking({ value });
    expect((await resume(threadId, answer)).status).toBe(200);
    expect(await auditOf(threadId)).toMatchObject([{ what: value.question, answer: shown }]);
  });

  test('a deadline that answers has nobody who decided', async () => {
    const { threadId } = await asking({ expires_ms: Date.now() - 1, on_expiry: 'no' });
    await gateways()[0].app.get(InterruptDeadlines).sweep();
    const [line, ...more] = await auditOf(threadId);
    expect(line).toMatchObject({ operation: 'answer', what: 'May I paint?', answer: 'no' });
    expect([line?.['decided_by'], more]).toEqual([undefined, []]);
  });
});

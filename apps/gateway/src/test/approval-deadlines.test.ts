import type { RunReply } from '@caribou/contracts';
import { InterruptDeadlines } from '../approvals/interrupt-deadlines.js';
import { useApprovals, waiting } from '../testing/approvals-fixture.js';

const { gateways, send, runUntil, waitingThread, decide, auditOf } = useApprovals();

describe('deadlines', () => {
  const expiring = (threadId: string, expiresMs: number) =>
    waiting(threadId, 'call_1', {
      expires_ms: expiresMs,
      on_expiry: { decisions: [{ type: 'reject', message: 'late' }] },
    });

  test('what is due is answered once, although two gateways look at the same time', async () => {
    const { threadId, ids } = await waitingThread((id) => [expiring(id, Date.now() - 1)]);
    const sweeps = [...gateways()].map(({ app }) => app.get(InterruptDeadlines).sweep());
    await Promise.all(sweeps);
    const runs = await send<readonly RunReply[]>(`/threads/${threadId}/runs`);
    expect(runs.body).toHaveLength(2);
    expect(await runUntil('alice', threadId, [])).toMatchObject({
      command: { answers: { [ids[0] ?? '']: { decisions: [{ type: 'reject', message: 'late' }] } } },
    });
    expect(await auditOf(threadId)).toMatchObject([{ verdict: 'reject' }]);
    expect((await auditOf(threadId))[0]).not.toHaveProperty('decided_by');
  });

  test('what waits says when its deadline decides and how, and which answers its author takes', async () => {
    const expiresMs = Date.now() + 3_600_000;
    const { threadId } = await waitingThread((id) => [
      expiring(id, expiresMs),
      waiting(id, 'call_2', { schema: { type: 'boolean' } }),
    ]);
    const listed = await send<readonly Record<string, unknown>[]>(`/threads/${threadId}/approvals`);
    expect(listed.body).toMatchObject([
      {
        expires_at: new Date(expiresMs).toISOString(),
        on_expiry: { decisions: [{ type: 'reject', message: 'late' }] },
      },
      { expires_at: null, response_schema: { type: 'boolean' } },
    ]);
    expect(listed.body[0]).not.toHaveProperty('response_schema');
    expect(listed.body[1]).not.toHaveProperty('on_expiry');
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
        const deadlines = gateways()[1].app.get(InterruptDeadlines);
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

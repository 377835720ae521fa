import type { RunReply } from '@caribou/contracts';
import { useApprovals } from '../testing/approvals-fixture.js';

const { send } = useApprovals();

async function pendingRun(): Promise<{ readonly path: string }> {
  const { body: thread } = await send<{ thread_id: string }>('/threads', {});
  const input = { messages: [{ type: 'human', content: 'x' }] };
  const { body: run } = await send<RunReply>(`/threads/${thread.thread_id}/runs`, {
    assistant_id: 'lead_agent',
    input,
  });
  return { path: `/threads/${thread.thread_id}/runs/${run.run_id}` };
}

describe('pausing a run', () => {
  test('is for its owner, and for an administrator who names the owner', async () => {
    const { path } = await pendingRun();

    expect((await send(`${path}/pause`, {}, { as: 'bob' })).status).toBe(404);
    expect((await send(`${path}/pause?user_id=alice`, {}, { as: 'bob' })).status).toBe(404);
    expect((await send(`${path}/pause`, {}, { as: 'root' })).status).toBe(404);
    expect((await send(`${path}/pause?user_id=alice`, {}, { as: 'root' })).status).toBe(202);
    expect(await send(`${path}/pause`, {})).toMatchObject({ status: 409 });
  });

  test('resuming what is not paused is a 409 for them, and a 404 for others', async () => {
    const { path } = await pendingRun();

    expect((await send(`${path}/resume`, {})).status).toBe(409);
    expect((await send(`${path}/resume?user_id=alice`, {}, { as: 'root' })).status).toBe(409);
    expect((await send(`${path}/resume?user_id=alice`, {}, { as: 'bob' })).status).toBe(404);
  });
});

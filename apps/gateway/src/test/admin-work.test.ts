import { newId } from '@caribou/contracts';
import { ai } from '@caribou/testing';
import { applyUpdate } from '@caribou/core';
import { redisMemoryJobs } from '@caribou/state';
import { type AdminClient, useAdmin } from '../testing/admin-client.js';

interface Page<Item> {
  readonly next_cursor: string | null;
  readonly items: readonly Item[];
}

interface Run {
  readonly run_id: string;
  readonly user_id: string;
  readonly status: string;
  readonly owner: string | null;
  readonly is_cancelled: boolean;
}

let admin: AdminClient;
useAdmin((client) => {
  admin = client;
});

async function page<Item>(url: string, field: string): Promise<Page<Item>> {
  const { status, body } = await admin.send('GET', url);
  expect(status).toBe(200);
  return { next_cursor: body['next_cursor'] as string | null, items: body[field] as Item[] };
}

/** All pages, each with its length. */
async function pages<Item>(url: string, field: string): Promise<readonly (readonly Item[])[]> {
  const found: (readonly Item[])[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next: Page<Item> = await page(`${url}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`, field);
    found.push(next.items);
    cursor = next.next_cursor;
  }
  return found;
}

describe('runs of all users', () => {
  test('are those that wait or are under way, paged by thread, with the process that executes them', async () => {
    const threads = [await admin.newThread('alice'), await admin.newThread('bob'), await admin.newThread('bob')];
    const ids: string[] = [];
    for (const thread of threads) ids.push(await admin.start(thread));
    const claimed = await admin.claim(threads[1] ?? { userId: '', threadId: '' });
    const behind = await admin.start(threads[1] ?? { userId: '', threadId: '' });

    const found = await pages<Run>('/admin/runs?limit=1', 'runs');

    expect(found.flat().map(({ run_id: id }) => id)).toEqual([ids[0], ids[1], behind, ids[2]]);
    expect(found.map((runs) => runs.length)).toEqual([1, 2, 1]);
    expect((await page<Run>('/admin/runs?status=running', 'runs')).items).toEqual([
      expect.objectContaining({ run_id: ids[1], user_id: 'bob', status: 'running', attempt: 1, is_cancelled: false }),
    ]);
    expect((await page<Run>('/admin/runs?user=alice', 'runs')).items.map(({ run_id: id }) => id)).toEqual([ids[0]]);
    expect(await admin.send('GET', '/admin/runs?status=success')).toMatchObject({ status: 422 });
    expect(await admin.send('GET', '/admin/runs?cursor=nonsense')).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('cursor: ') as unknown },
    });
    await admin.runner.finish(claimed.lease, { status: 'success', events: [] });
  });

  test('one of another user is stopped, and the audit says who did it', async () => {
    const thread = await admin.newThread('bob');
    const runId = await admin.start(thread);
    const queued = await admin.start(thread);
    const { lease } = await admin.claim(thread);
    const body = { user_id: 'bob', thread_id: thread.threadId, run_id: runId };

    expect(await admin.send('POST', '/admin/runs/cancel', body)).toMatchObject({
      status: 200,
      body: { run_id: runId },
    });
    expect(await admin.send('POST', '/admin/runs/cancel', { ...body, run_id: queued })).toMatchObject({
      body: { status: 'interrupted' },
    });

    expect((await admin.runner.renew(lease)).cancel).toBe('interrupt');
    const [run] = (await page<Run>('/admin/runs?user=bob&status=running', 'runs')).items;
    expect(run).toMatchObject({ run_id: runId, is_cancelled: true });
    const lines = (await admin.auditOf('interrupt')).filter((line) => line['run_id'] === runId);
    expect(lines).toEqual([
      expect.objectContaining({ operation: 'run.cancel', user_id: 'bob', decided_by: 'root', verdict: 'requested' }),
    ]);
    expect(await admin.send('POST', '/admin/runs/cancel', { ...body, run_id: newId() })).toMatchObject({ status: 404 });
    expect(await admin.send('POST', '/admin/runs/cancel', { ...body, action: 'delete' })).toMatchObject({
      status: 422,
    });
    expect(await admin.send('POST', '/admin/runs/cancel', { ...body, user_id: 'a.b' })).toMatchObject({ status: 422 });
    const failed = (await admin.auditOf('interrupt')).filter((line) => line['verdict'] === 'error:not_found');
    expect(failed).toHaveLength(1);
  });
});

describe('crons of all users', () => {
  const create = async (as: 'alice' | 'bob', schedule: string): Promise<string> => {
    const body = { assistant_id: 'lead_agent', schedule, input: { messages: [{ type: 'human', content: 'hi' }] } };
    return (await admin.send<{ cron_id: string }>('POST', '/runs/crons', body, { as })).body.cron_id;
  };

  test('are paged by their due time; one is paused and deleted for its user', async () => {
    const monthly = await create('bob', '0 0 1 * *');
    const hourly = await create('alice', '0 * * * *');
    const found = await pages<{ cron_id: string; user_id: string }>('/admin/crons?limit=1', 'crons');
    expect(found.flat().map(({ cron_id: id, user_id: user }) => [id, user])).toEqual([
      [hourly, 'alice'],
      [monthly, 'bob'],
    ]);
    expect((await page('/admin/crons', 'crons')).items[0]).toMatchObject({
      ...{ kind: 'cron', schedule: '0 * * * *', enabled: true, retries: 0, started: 0, last_error: null },
      due_at: expect.stringMatching(/:00:00\.000Z$/) as unknown,
    });

    const paused = await admin.send('POST', `/admin/crons/bob/${monthly}/pause`);
    expect(paused).toMatchObject({ status: 200, body: { enabled: false, due_at: null } });
    expect((await admin.send('POST', `/admin/crons/bob/${monthly}/pause`)).status).toBe(200);
    expect((await page('/admin/crons', 'crons')).items).toHaveLength(1);
    expect((await page('/admin/crons?user=bob', 'crons')).items).toMatchObject([{ cron_id: monthly, enabled: false }]);

    expect((await admin.send('DELETE', `/admin/crons/alice/${hourly}`)).status).toBe(204);
    expect((await admin.send('DELETE', `/admin/crons/alice/${hourly}`)).status).toBe(404);
    expect((await admin.send('POST', `/admin/crons/alice/${monthly}/pause`)).status).toBe(404);
    expect((await page('/admin/crons', 'crons')).items).toEqual([]);
    expect((await admin.auditOf(monthly)).map((line) => line['operation'])).toEqual(['cron.pause']);
    expect((await admin.auditOf(hourly)).map((line) => line['operation'])).toEqual(['cron.delete']);
  });
});

describe('work of memory', () => {
  test('a thread whose extraction was given up is queued again', async () => {
    const thread = await admin.newThread();
    await admin.start(thread);
    const { lease, run, head } = await admin.claim(thread);
    const messages = [...(run.kwargs.input?.messages ?? []), ai('done')];
    const state = applyUpdate(head.state, { messages });
    const commit = { head, state, next: [], source: 'loop' as const, step: 1, events: [] };
    await admin.runner.finish(lease, { status: 'success', commit, events: [], remember: { agent: 'lead_agent' } });
    const jobs = redisMemoryJobs(admin.redis, { debounceMs: 0, leaseMs: 60_000 });
    const job = await jobs.take({ ...thread, agent: 'lead_agent' }, 'w1');
    if (job === null) throw new Error('the thread is not queued');
    await jobs.deadLetter(job, { watermark: job.lastEntry, seen: [], more: false }, 'the model: invalid answer');
    const id = `memory.alice.${thread.threadId}.lead_agent`;

    expect(await admin.send('POST', `/admin/dead-letters/${id}/replay`)).toMatchObject({
      status: 200,
      body: { kind: 'memory', user_id: 'alice', thread_id: thread.threadId, run_id: null },
    });

    expect((await jobs.ready(10)).jobs).toEqual([{ ...thread, agent: 'lead_agent' }]);
    expect(await admin.auditOf(id)).toHaveLength(1);
  });
});

test.each([
  ['GET', '/admin/dead-letters'],
  ['GET', '/admin/runs'],
  ['POST', '/admin/runs/cancel'],
  ['GET', '/admin/crons'],
  ['GET', '/admin/webhooks/events'],
  ['GET', '/admin/audit'],
  ['GET', '/admin/audit/export'],
  ['GET', '/admin/config'],
  ['GET', '/admin/budgets'],
] as const)('%s %s is not for others than administrators', async (method, url) => {
  expect((await admin.send(method, url, method === 'POST' ? {} : undefined, { as: 'alice' })).status).toBe(403);
});

import type { ScheduledTaskReply, ScheduledTaskRunReply } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { type TimersFixture, useTimers } from '../testing/timers-fixture.js';

let timers: TimersFixture;

useTimers((fixture) => {
  timers = fixture;
});

const later = (ms: number): string => new Date(Date.now() + ms).toISOString();
const taskOf = (more: object = {}) => ({
  title: 'Morning report',
  prompt: 'Write the report.',
  schedule_type: 'cron',
  schedule_spec: { cron: '0 7 * * *' },
  timezone: 'Europe/Berlin',
  context_mode: 'fresh_thread_per_run',
  ...more,
});
const once = (ms: number, more: object = {}) =>
  taskOf({ schedule_type: 'once', schedule_spec: { run_at: later(ms) }, ...more });

const ask = <Body = ScheduledTaskReply>(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path = '',
  body?: object,
  user = 'alice',
) => timers.send<Body>(method, `/scheduled-tasks${path}`, body, { user });
const create = async (body: object): Promise<ScheduledTaskReply> => {
  const answer = await ask('POST', '', body);
  if (answer.status !== 200) throw new Error(answer.body.detail);
  return answer.body;
};
const runsOf = async (id: string) => (await ask<ScheduledTaskRunReply[]>('GET', `/${id}/runs`)).body;

describe('scheduled tasks', () => {
  test("a task has the fields of DeerFlow's page", async () => {
    const task = await create(taskOf());
    expect(task).toEqual({
      id: expect.stringMatching(/^task-/),
      thread_id: null,
      context_mode: 'fresh_thread_per_run',
      assistant_id: 'lead_agent',
      title: 'Morning report',
      prompt: 'Write the report.',
      schedule_type: 'cron',
      schedule_spec: { cron: '0 7 * * *' },
      timezone: 'Europe/Berlin',
      status: 'enabled',
      next_run_at: expect.stringMatching(/T0[56]:00:00.000Z$/),
      last_run_at: null,
      last_run_id: null,
      last_thread_id: null,
      last_error: null,
      run_count: 0,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect((await ask('GET', `/${task.id}`)).body).toEqual(task);
    expect((await ask<ScheduledTaskReply[]>('GET')).body.map(({ id }) => id)).toContain(task.id);
    expect(await runsOf(task.id)).toEqual([]);
    expect((await timers.send('POST', '/runs/crons/count', {})).body).toBe(0);
  });

  test('a task that runs once runs at its time on a new thread, and is then completed', async () => {
    const task = await create(once(800));
    const [threadId = ''] = await waitFor(
      async () => {
        const pending = await timers.pendingThreads();
        return pending.length > 0 && pending;
      },
      { what: 'the run of the task' },
    );
    expect((await ask('GET', `/${task.id}`)).body).toMatchObject({
      status: 'running',
      next_run_at: null,
      run_count: 1,
    });
    expect(await runsOf(task.id)).toMatchObject([{ status: 'queued', trigger: 'scheduled', thread_id: threadId }]);
    const runId = await timers.execute(threadId);

    expect((await ask('GET', `/${task.id}`)).body).toMatchObject({
      status: 'completed',
      last_run_id: runId,
      last_thread_id: threadId,
      last_error: null,
    });
    expect(await runsOf(task.id)).toMatchObject([{ status: 'success', run_id: runId, attempt_count: 1 }]);
    const state = await timers.send<{ values: { messages: { content: string }[] } }>(
      'GET',
      `/threads/${threadId}/state`,
    );
    expect(state.body.values.messages[0]?.content).toBe('Write the report.');
    const listed = await timers.send<ScheduledTaskReply[]>('GET', `/threads/${threadId}/scheduled-tasks`);
    expect(listed.body.map(({ id }) => id)).toEqual([task.id]);
  });

  test('a paused task has no due time until it is resumed', async () => {
    const task = await create(taskOf());
    expect((await ask('POST', `/${task.id}/pause`)).body).toMatchObject({ status: 'paused', next_run_at: null });
    expect((await ask('POST', `/${task.id}/pause`)).status).toBe(200);

    expect((await ask('POST', `/${task.id}/resume`)).body).toMatchObject({
      status: 'enabled',
      next_run_at: task.next_run_at,
    });
  });

  test('a changed schedule has another due time, and a changed text keeps it', async () => {
    const task = await create(taskOf());
    expect((await ask('PATCH', `/${task.id}`, { title: 'Evening report', prompt: 'Now.' })).body).toMatchObject({
      title: 'Evening report',
      prompt: 'Now.',
      next_run_at: task.next_run_at,
    });

    const moved = await ask('PATCH', `/${task.id}`, { schedule_spec: { cron: '0 19 * * *' }, timezone: 'UTC' });
    expect(moved.body).toMatchObject({ schedule_spec: { cron: '0 19 * * *' }, timezone: 'UTC' });
    expect(moved.body.next_run_at).toMatch(/T19:00:00.000Z$/);
  });

  test('a start by hand runs on the thread of the task, and not while that is busy', async () => {
    const threadId = await timers.newThread();
    const task = await create(taskOf({ context_mode: 'reuse_thread', thread_id: threadId }));
    const started = await ask<object>('POST', `/${task.id}/trigger`);
    expect([started.status, started.body]).toEqual([200, { id: task.id, triggered: true, thread_id: threadId }]);

    expect((await ask('POST', `/${task.id}/trigger`)).status).toBe(409);
    const runId = await timers.execute(threadId);
    expect(await runsOf(task.id)).toMatchObject([{ trigger: 'manual', run_id: runId, status: 'success' }]);
    expect((await ask('GET', `/${task.id}`)).body).toMatchObject({
      run_count: 1,
      next_run_at: task.next_run_at,
      status: 'enabled',
    });
  });

  test('a deleted task is gone, and nobody reaches the task of another user', async () => {
    const task = await create(taskOf());
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/pause'],
      ['POST', '/trigger'],
      ['GET', '/runs'],
    ] as const)
      expect((await ask(method, `/${task.id}${path}`, undefined, 'bob')).status).toBe(404);

    expect((await ask<object>('DELETE', `/${task.id}`)).body).toEqual({ id: task.id, deleted: true });
    expect((await ask('GET', `/${task.id}`)).status).toBe(404);
  });

  test.each<[string, object, number, string]>([
    ['a time that is past', once(-1_000), 422, 'schedule_spec.run_at: is past'],
    [
      'a time that is missing',
      taskOf({ schedule_type: 'once', schedule_spec: {} }),
      422,
      'schedule_spec.run_at: is needed',
    ],
    ['an expression that is missing', taskOf({ schedule_spec: {} }), 422, 'schedule_spec.cron: is needed'],
    [
      'an expression with seconds',
      taskOf({ schedule_spec: { cron: '* * * * * *' } }),
      422,
      'schedule_spec.cron: must have five fields',
    ],
    ['a time zone', taskOf({ timezone: 'Nowhere' }), 422, 'timezone: is not the IANA name'],
    ['a type', taskOf({ schedule_type: 'interval' }), 422, 'schedule_type: '],
    ['an empty title', taskOf({ title: '' }), 422, 'title: '],
    ['reuse of no thread', taskOf({ context_mode: 'reuse_thread' }), 422, 'thread_id: is needed'],
    [
      'reuse of an unknown thread',
      taskOf({ context_mode: 'reuse_thread', thread_id: 'nowhere' }),
      404,
      'does not exist',
    ],
  ])('%s that cannot be is refused by name', async (_, body, status, detail) => {
    const refused = await ask('POST', '', body);
    expect([refused.status, refused.body.detail]).toEqual([status, expect.stringContaining(detail)]);
  });
});

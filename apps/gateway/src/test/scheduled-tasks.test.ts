import { type ScheduledTaskReply, type ThreadTaskReply } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { scheduledTasksOf, SHORT_INTERVALS } from '../testing/scheduled-tasks-client.js';
import { every, later, once, taskOf } from '../testing/task-bodies.js';
import { type TimersFixture, useTimers } from '../testing/timers-fixture.js';

let timers: TimersFixture;

useTimers(
  (fixture) => {
    timers = fixture;
  },
  { gateways: 2, config: SHORT_INTERVALS },
);

const { ask, create, runsOf } = scheduledTasksOf(() => timers);

describe('scheduled tasks', () => {
  test('times without an offset are of the time zone of the task', async () => {
    const spec = { schedule_type: 'once', schedule_spec: { run_at: '2099-07-01T12:00:00' } };
    const task = await create(taskOf({ ...spec, end_at: '2099-07-01T12:00:00' }));
    expect(task).toMatchObject({ next_run_at: '2099-07-01T10:00:00.000Z', end_at: '2099-07-01T10:00:00.000Z' });
    expect(task.schedule_spec).toEqual({ run_at: '2099-07-01T12:00:00' });
  });

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
      max_runs: null,
      end_at: null,
      stop_condition: null,
      automatic_runs_used: 0,
      active_run_status: null,
      goal_objective: null,
      origin_thread_id: null,
      standing_notes: [],
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
      active_run_status: 'queued',
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
    const listed = await timers.send<ThreadTaskReply[]>('GET', `/threads/${threadId}/scheduled-tasks`);
    const ofRun = { run_number: 1, trigger: 'scheduled', scheduled_for: expect.any(String), status: 'success' };
    expect(listed.body).toMatchObject([{ id: task.id, thread_relation: 'run', thread_run: ofRun }]);
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
    const launched = { id: task.id, triggered: true, outcome: 'launched', existing: false, thread_id: threadId };
    expect([started.status, started.body]).toEqual([200, launched]);

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
    ['a time that is missing', once(0, { schedule_spec: {} }), 422, 'schedule_spec.run_at: is needed'],
    ['an expression that is missing', taskOf({ schedule_spec: {} }), 422, 'schedule_spec.cron: is needed'],
    [
      'an expression with seconds',
      taskOf({ schedule_spec: { cron: '* * * * * *' } }),
      422,
      'schedule_spec.cron: must have five fields',
    ],
    ['a time zone', taskOf({ timezone: 'Nowhere' }), 422, 'timezone: is not the IANA name'],
    ['a type', taskOf({ schedule_type: 'hourly' }), 422, 'schedule_type: '],
    ['a field of another type', every(60, { schedule_type: 'cron' }), 422, '.every_seconds: does not belong'],
    ['an interval that is missing', every(60, { schedule_spec: {} }), 422, 'schedule_spec.every_seconds: is needed'],
    ['an interval of zero', every(0), 422, 'schedule_spec.every_seconds: Too small: expected number to be >=1'],
    ['an interval of a second', every(1), 422, 'schedule_spec.every_seconds: must be at least 2 (crons.min_interval'],
    ['an interval of half a minute', every(0.5), 422, 'schedule_spec.every_seconds: '],
    [
      'an interval of 31 days',
      every(2_678_400),
      422,
      'schedule_spec.every_seconds: Too big: expected number to be <=2592000',
    ],
    ['a limit of no runs', every(60, { max_runs: 0 }), 422, 'max_runs: Too small: expected number to be >=1'],
    ['a limit below zero', every(60, { max_runs: -1 }), 422, 'max_runs: '],
    ['a huge limit', every(60, { max_runs: 1_000_001 }), 422, 'max_runs: Too big: expected number to be <=1000000'],
    ['a limit as text', every(60, { max_runs: '5' }), 422, 'max_runs: '],
    [
      'a long condition',
      every(60, { stop_condition: 'x'.repeat(501) }),
      422,
      'stop_condition: Too big: expected string to have <=500',
    ],
    ['an end that is past', every(60, { end_at: later(-1_000) }), 422, 'end_at: is past'],
    ['an end before the first run', every(60, { end_at: later(30_000) }), 422, 'end_at: is before the first due time'],
    ['an end that is no time', every(60, { end_at: 'soon' }), 422, 'end_at: '],
    ['a goal', every(60, { goal_objective: 'win' }), 422, 'goal_objective: is not supported here: say in prompt'],
    ['an unknown field', every(60, { stop_when: 'done' }), 422, 'stop_when: is not supported here'],
    [
      'an unknown field in it',
      every(60, { schedule_spec: { every_minutes: 5 } }),
      422,
      'schedule_spec.every_minutes: ',
    ],
    ['an unknown agent', every(60, { assistant_id: 'nobody' }), 404, 'nobody'],
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

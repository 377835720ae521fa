import { newId, type ScheduledTaskReply, type ScheduledTaskRunReply, type ThreadTaskReply } from '@caribou/contracts';
import { redisSchedules } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { every, later, once, taskOf } from '../testing/task-bodies.js';
import { type TimersFixture, useTimers } from '../testing/timers-fixture.js';

let timers: TimersFixture;

useTimers(
  (fixture) => {
    timers = fixture;
  },
  { gateways: 2, config: 'crons:\n  min_interval_seconds: 2\n' },
);

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

async function claim(threadId: string) {
  const claimed = await timers.runner.claim({ userId: 'alice', threadId }, newId());
  if (claimed.kind !== 'run') throw new Error(claimed.kind);
  return claimed;
}
/** Starts a run of a task by hand and claims it. */
const claimTriggered = async (taskId: string) =>
  claim((await ask<{ thread_id: string }>('POST', `/${taskId}/trigger`)).body.thread_id);
const finish = ({ lease }: Awaited<ReturnType<typeof claim>>) =>
  timers.runner.finish(lease, { status: 'success', events: [] });

describe('scheduled tasks', () => {
  test('an interval is counted from its creation, and over after max_runs, each counted once by two gateways', async () => {
    const task = await create(every(2, { max_runs: 2 }));
    expect(task).toMatchObject({ schedule_type: 'interval', schedule_spec: { every_seconds: 2 }, max_runs: 2 });
    const createdMs = Date.parse(task.created_at);
    expect(Date.parse(task.next_run_at ?? '')).toBeLessThanOrEqual(createdMs + 2_000);
    expect(Date.parse(task.next_run_at ?? '')).toBeGreaterThan(createdMs + 1_000);
    const over = await waitFor(
      async () => {
        for (const threadId of await timers.pendingThreads()) await timers.execute(threadId);
        const { body } = await ask('GET', `/${task.id}`);
        return body.status === 'completed' && body;
      },
      { what: 'the last run' },
    );

    expect(over).toMatchObject({ automatic_runs_used: 2, run_count: 2, next_run_at: null, last_error: null });
    const runs = await runsOf(task.id);
    expect(runs).toMatchObject([
      { run_number: 2, trigger: 'scheduled', status: 'success', summary: 'done' },
      { run_number: 1, trigger: 'scheduled', status: 'success', stop_requested_run_id: null },
    ]);
    const [last, first] = runs.map(({ scheduled_for: due }) => Date.parse(due));
    expect([(last ?? 0) - (first ?? 0), first]).toEqual([2_000, Date.parse(task.next_run_at ?? '')]);
  });

  test('a task whose runs are used up is renewed only with a higher limit', async () => {
    const task = await create(once(300, { max_runs: 1 }));
    await waitFor(async () => (await ask('GET', `/${task.id}`)).body.next_run_at === null, { what: 'the run' });
    for (const threadId of await timers.pendingThreads()) await timers.execute(threadId);
    expect((await ask('POST', `/${task.id}/pause`)).body.detail).toContain('the task is over');
    const again = { schedule_type: 'interval', schedule_spec: { every_seconds: 3_600 } };
    const refused = await ask('PATCH', `/${task.id}`, again);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('max_runs: all 1 runs')]);
    const low = await ask('PATCH', `/${task.id}`, { ...again, max_runs: 1 });
    expect([low.status, low.body.detail]).toEqual([422, expect.stringContaining('max_runs: must be more than the 1')]);

    const { title, prompt, timezone, schedule_spec } = task;
    const edited = await ask('PATCH', `/${task.id}`, { title: `${title}!`, prompt, timezone, schedule_spec });
    expect([edited.status, edited.body]).toEqual([200, expect.objectContaining({ status: 'completed' })]);

    expect((await ask('PATCH', `/${task.id}`, { ...again, max_runs: 5 })).body).toMatchObject({
      status: 'enabled',
      schedule_type: 'interval',
      automatic_runs_used: 1,
    });
    expect((await ask('POST', `/${task.id}/resume`, { max_runs: null })).body).toMatchObject({ max_runs: null });
  });

  test('the agent of a run may stop a task that has a condition, until a person resumes it', async () => {
    const task = await create(taskOf({ stop_condition: '  the   report is out ' }));
    expect(task).toMatchObject({ stop_condition: 'the report is out', prompt: 'Write the report.' });
    const claimed = await claimTriggered(task.id);
    const { lease, run } = claimed;
    expect(run.kwargs.context).toMatchObject({ scheduled_task: task.id, non_interactive: true });
    expect(run.kwargs.input?.messages?.[0]?.content).toMatch(/^Write the report\.\n[^]* the report is out\n/);
    const by = { userId: 'alice', threadId: run.thread_id, runId: run.run_id, epoch: lease.epoch, taskId: task.id };
    expect(await redisSchedules(timers.redis).stop(by)).toBe('stopped');
    await finish(claimed);

    expect((await ask('GET', `/${task.id}`)).body).toMatchObject({
      status: 'paused',
      next_run_at: null,
      last_error: `stopped by the agent in run ${run.run_id}`,
    });
    expect(await runsOf(task.id)).toMatchObject([{ stop_requested_run_id: run.run_id, trigger: 'manual' }]);
    expect((await ask('PATCH', `/${task.id}`, { title: 'Renamed' })).body).toMatchObject({ status: 'paused' });
    expect((await ask('POST', `/${task.id}/resume`)).body).toMatchObject({
      status: 'enabled',
      next_run_at: task.next_run_at,
      last_error: null,
    });
  });

  test('runs of a task without a condition, and those of clients, have no schedule to stop', async () => {
    const task = await create(taskOf({ stop_condition: 'never' }));
    expect((await ask('PATCH', `/${task.id}`, { stop_condition: null })).body.stop_condition).toBeNull();
    const claimed = await claimTriggered(task.id);
    await finish(claimed);
    const { run } = claimed;
    expect(run.kwargs.context).not.toHaveProperty('scheduled_task');
    expect(run.kwargs.input?.messages?.[0]?.content).toBe('Write the report.');

    const threadId = await timers.newThread();
    const context = { scheduled_task: task.id };
    const body = { assistant_id: 'lead_agent', input: { messages: [] }, context, config: { configurable: context } };
    expect((await timers.send('POST', `/threads/${threadId}/runs`, body)).status).toBe(200);
    const other = await claim(threadId);
    await finish(other);
    expect(other.run.kwargs.context).toEqual({});
  });

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

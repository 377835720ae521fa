import { redisSchedules } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { scheduledTasksOf, SHORT_INTERVALS } from '../testing/scheduled-tasks-client.js';
import { every, once, taskOf } from '../testing/task-bodies.js';
import { type TimersFixture, useTimers } from '../testing/timers-fixture.js';

let timers: TimersFixture;

useTimers(
  (fixture) => {
    timers = fixture;
  },
  { gateways: 2, config: SHORT_INTERVALS },
);

const { ask, claim, claimTriggered, create, finish, runsOf } = scheduledTasksOf(() => timers);

describe('scheduled tasks that end', () => {
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
});

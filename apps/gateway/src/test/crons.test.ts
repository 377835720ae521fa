import type { CronReply, RunReply } from '@caribou/contracts';
import { redisThreadStore } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { type TimersFixture, useTimers } from '../testing/timers-fixture.js';

let timers: TimersFixture;

useTimers(
  (fixture) => {
    timers = fixture;
  },
  { gateways: 3, config: 'crons:\n  catch_up: all\n  min_interval_seconds: 1\n  max_per_user: 8\n  max_bytes: 2048\n' },
);

const HOURLY = '0 * * * *';
const EVERY_SECOND = '* * * * * *';
const cronOf = (more: object = {}) => ({
  assistant_id: 'lead_agent',
  schedule: HOURLY,
  input: { messages: 'hi' },
  ...more,
});
const create = (more: object = {}, user = 'alice') =>
  timers.send<CronReply>('POST', '/runs/crons', cronOf(more), { user });
const search = async (body: object = {}, user = 'alice') =>
  (await timers.send<CronReply[]>('POST', '/runs/crons/search', body, { user })).body;
const remove = (id: string, user = 'alice') => timers.send('DELETE', `/runs/crons/${id}`, undefined, { user });

afterEach(async () => {
  for (const user of ['alice', 'bob'])
    for (const { cron_id } of await search({ limit: 100 }, user)) await remove(cron_id, user);
});

describe('the API of crons', () => {
  test('a cron is created, found, counted, changed and deleted', async () => {
    const { status, body: cron } = await create({
      timezone: 'Europe/Berlin',
      metadata: { kind: 'report' },
      webhook: timers.hook(),
    });
    expect(status).toBe(200);
    expect(cron).toMatchObject({
      thread_id: null,
      schedule: HOURLY,
      timezone: 'Europe/Berlin',
      end_time: null,
      user_id: 'alice',
      enabled: true,
      on_run_completed: 'delete',
      metadata: { kind: 'report' },
      payload: { assistant_id: 'lead_agent', input: { messages: 'hi' }, webhook: timers.hook() },
      next_run_date: expect.stringMatching(/:00:00.000Z$/),
    });
    await create({ metadata: { kind: 'other' } });

    expect((await search({ metadata: { kind: 'report' } })).map(({ cron_id }) => cron_id)).toEqual([cron.cron_id]);
    expect(await search({ select: ['cron_id', 'now'], metadata: { kind: 'report' } })).toEqual([
      { cron_id: cron.cron_id, now: expect.stringMatching(/Z$/) },
    ]);
    expect((await timers.send('POST', '/runs/crons/count', { assistant_id: 'lead_agent' })).body).toBe(2);

    const path = `/runs/crons/${cron.cron_id}`;
    const paused = await timers.send<CronReply>('PATCH', path, { enabled: false, input: { messages: 'bye' } });
    expect(paused.body).toMatchObject({
      enabled: false,
      next_run_date: null,
      schedule: HOURLY,
      payload: { input: { messages: 'bye' } },
    });
    expect((await search({ enabled: false })).length).toBe(1);
    const ended = await timers.send<CronReply>('PATCH', path, { enabled: true, end_time: '2199-01-01T00:00:00' });
    expect(ended.body).toMatchObject({ enabled: true, end_time: '2199-01-01T00:00:00' });
    expect((await timers.send('PATCH', path, { end_time: null })).body).toMatchObject({ end_time: null });

    expect((await remove(cron.cron_id)).status).toBe(204);
    expect((await remove(cron.cron_id)).status).toBe(404);
    expect((await timers.send('PATCH', path, { enabled: true })).status).toBe(404);
  });

  test('lists are sorted and come in pages', async () => {
    for (const name of ['a', 'b', 'c']) await create({ metadata: { name } });
    const names = (crons: CronReply[]) => crons.map(({ metadata }) => metadata['name']);

    expect(names(await search({ sort_by: 'created_at', sort_order: 'asc', limit: 2 }))).toEqual(['a', 'b']);
    expect(names(await search({ sort_by: 'created_at', sort_order: 'asc', limit: 2, offset: 2 }))).toEqual(['c']);
  });

  test('nobody reaches the cron of another user', async () => {
    const { body } = await create();
    expect(await search({}, 'bob')).toEqual([]);
    expect((await remove(body.cron_id, 'bob')).status).toBe(404);
    expect(
      (await timers.send('PATCH', `/runs/crons/${body.cron_id}`, { enabled: false }, { user: 'bob' })).status,
    ).toBe(404);
  });

  test.each<[string, object, number, string]>([
    ['an expression', { schedule: 'often' }, 422, 'schedule: must have five fields'],
    ['a time zone', { timezone: 'Mars/Base' }, 422, 'timezone: is not the IANA name'],
    ['an end that is past', { end_time: '2020-01-01T00:00:00Z' }, 422, 'end_time: is past'],
    [
      'an end before the first due time',
      { schedule: '0 0 29 2 *', end_time: new Date(Date.now() + 60_000).toISOString() },
      422,
      'end_time: is before the first due time',
    ],
    ['a day that never comes', { schedule: '0 0 30 2 *' }, 422, 'schedule: is never due'],
    ['an unknown agent', { assistant_id: 'nobody' }, 404, 'there is no assistant'],
    ['an unknown model', { context: { model_name: 'nope' } }, 422, 'context.model_name'],
    ['a field of a single run', { after_seconds: 5 }, 422, 'after_seconds: is not supported here'],
    ['a large request', { input: { messages: 'x'.repeat(3_000) } }, 413, 'crons.max_bytes'],
  ])('%s that cannot be is refused by name', async (_, more, status, detail) => {
    const refused = await create(more);
    expect([refused.status, refused.body.detail]).toEqual([status, expect.stringContaining(detail)]);
  });

  test('a cron on a thread needs the thread, and goes with it', async () => {
    const missing = await timers.send('POST', '/threads/nowhere/runs/crons', cronOf());
    expect([missing.status, missing.body.detail]).toEqual([404, 'Thread nowhere does not exist']);
    const threadId = await timers.newThread();
    const { body } = await timers.send<CronReply>('POST', `/threads/${threadId}/runs/crons`, cronOf());
    expect(body.thread_id).toBe(threadId);
    expect(await search({ thread_id: threadId })).toHaveLength(1);
    await timers.send('DELETE', `/threads/${threadId}`);

    expect(await search({ thread_id: threadId })).toEqual([]);
  });

  test('a user has a bounded number of crons, and the refusal names the limit', async () => {
    for (let count = 0; count < 8; count += 1) expect((await create({}, 'bob')).status).toBe(200);
    const refused = await create({}, 'bob');

    expect([refused.status, refused.body.detail]).toEqual([429, expect.stringContaining('crons.max_per_user')]);
  });
});

describe('due times', () => {
  test('several gateways start one run for each due time, in order, on the thread of the cron', async () => {
    const threadId = await timers.newThread();
    const path = `/threads/${threadId}/runs`;
    const { body: cron } = await timers.send<CronReply>('POST', `${path}/crons`, cronOf({ schedule: EVERY_SECOND }));
    for (let count = 0; count < 3; count += 1) await timers.execute(threadId);
    await remove(cron.cron_id);

    const { body: runs } = await timers.send<RunReply[]>('GET', `${path}?limit=100`);
    const due = runs.map(({ metadata }) => String(metadata['scheduled_for']));
    expect(new Set(due).size).toBe(due.length);
    expect(due.length).toBeGreaterThanOrEqual(3);
    expect(runs.every(({ metadata }) => metadata['cron_id'] === cron.cron_id)).toBe(true);
    const times = due.map((text) => Date.parse(text)).sort((a, b) => a - b);
    for (const [index, time] of times.entries()) expect(time - (times[0] ?? 0)).toBe(index * 1_000);
  });

  test('a run of its own thread is announced, and the thread is deleted or kept as the cron says', async () => {
    const { body: cron } = await create({ schedule: EVERY_SECOND, webhook: timers.hook(), on_run_completed: 'keep' });
    const [threadId = ''] = await waitFor(
      async () => {
        const pending = await timers.pendingThreads();
        return pending.length > 0 && pending;
      },
      { what: 'a run of the cron' },
    );
    await remove(cron.cron_id);
    const runId = await timers.execute(threadId);

    await waitFor(() => timers.deliveries().some(({ body }) => body['run_id'] === runId), { what: 'the delivery' });
    expect((await timers.send('GET', `/threads/${threadId}`)).status).toBe(200);
    for (const other of await timers.pendingThreads()) await timers.execute(other);
  });

  test('a due time on a busy thread with the strategy reject starts nothing, and the cron says why', async () => {
    const threadId = await timers.newThread();
    await timers.send('POST', `/threads/${threadId}/runs`, {
      assistant_id: 'lead_agent',
      input: { messages: 'first' },
    });
    const body = cronOf({ schedule: EVERY_SECOND, multitask_strategy: 'reject' });
    await timers.send('POST', `/threads/${threadId}/runs/crons`, body);

    await waitFor(
      async () => (await search({ thread_id: threadId }))[0]?.last_error?.includes('already running') === true,
      {
        what: 'the reason',
      },
    );
    expect((await timers.send<RunReply[]>('GET', `/threads/${threadId}/runs`)).body).toHaveLength(1);
  });

  test('a cron whose thread has gone is removed at its next due time', async () => {
    const threadId = await timers.newThread();
    await timers.send('POST', `/threads/${threadId}/runs/crons`, cronOf({ schedule: EVERY_SECOND }));
    const threads = redisThreadStore(timers.redis);
    const isGone = async () => {
      for (const id of await timers.pendingThreads()) await timers.execute(id);
      // Not by the API, which removes the cron with its thread.
      await threads.deleteThread({ userId: 'alice', threadId }).catch(() => undefined);
      return (await search({ thread_id: threadId })).length === 0;
    };
    await waitFor(isGone, { what: 'the end of the cron' });
  });

  test('no error was logged', () => {
    expect(timers.faults).toEqual([]);
  });
});

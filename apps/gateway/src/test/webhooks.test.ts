import { createHmac } from 'node:crypto';
import type { WebhookEventsReply } from '@caribou/contracts';
import { redisThreadStore } from '@caribou/state';
import { admission, waitFor } from '@caribou/testing';
import { type TimersFixture, useTimers } from '../testing/timers-fixture.js';

let timers: TimersFixture;
let failures = 0;

useTimers(
  (fixture) => {
    timers = fixture;
  },
  {
    gateways: 2,
    config: '  max_body_bytes: 16384\n',
    routes: {
      '/flaky': (_, response) => {
        failures += 1;
        response.writeHead(failures < 3 ? 503 : 200).end();
      },
      // Never answers.
      '/silent': () => undefined,
      '/moved': (_, response) => void response.writeHead(307, { location: '/ok' }).end(),
    },
  },
);

const runOf = (more: object) => ({ assistant_id: 'lead_agent', input: { messages: 'hi' }, ...more });

async function runWith(webhook: string): Promise<{ readonly threadId: string; readonly runId: string }> {
  const threadId = await timers.newThread();
  const started = await timers.send('POST', `/threads/${threadId}/runs`, runOf({ webhook, metadata: { order: 7 } }));
  expect(started.status).toBe(200);
  return { threadId, runId: await timers.execute(threadId) };
}

const events = async () => (await timers.send<WebhookEventsReply>('GET', '/webhooks/events')).body;
const idsAt = (path: string) => timers.deliveries(path).map(({ headers }) => headers['webhook-id']);

describe('webhooks of runs', () => {
  test('the end of a run is delivered once, signed, in the form of LangGraph', async () => {
    const { threadId, runId } = await runWith(timers.hook());
    await waitFor(() => idsAt('/ok').includes(runId), { what: 'the delivery' });
    await waitFor(async () => (await events()).waiting.length === 0, { what: 'the end of the event' });

    const found = timers.deliveries().filter(({ headers }) => headers['webhook-id'] === runId);
    expect(found).toHaveLength(1);
    expect(found[0]?.body).toMatchObject({
      run_id: runId,
      thread_id: threadId,
      status: 'success',
      metadata: { order: 7 },
      kwargs: { webhook: timers.hook() },
      run_started_at: expect.stringMatching(/Z$/),
      run_ended_at: expect.stringMatching(/Z$/),
      webhook_sent_at: expect.stringMatching(/Z$/),
      values: { messages: [{ content: 'hi' }, { content: 'done' }] },
    });
    expect(found[0]?.body).not.toHaveProperty('error');
    const { 'webhook-timestamp': timestamp, 'webhook-signature': signature } = found[0]?.headers ?? {};
    const body = timers.rawBodies().find((text) => text.includes(runId));
    const expected = createHmac('sha256', 'a-secret-of-the-tests')
      .update(`${runId}.${timestamp}.${body}`)
      .digest('base64');
    expect(signature).toBe(`v1,${expected}`);
  });

  test('a receiver that fails gets the same event with the same body again, until it takes it', async () => {
    const { runId } = await runWith(timers.hook('/flaky'));
    await waitFor(() => idsAt('/flaky').length === 3, { what: 'three attempts' });
    await waitFor(async () => (await events()).waiting.length === 0, { what: 'the end of the event' });

    expect(idsAt('/flaky')).toEqual([runId, runId, runId]);
    expect(new Set(timers.rawBodies('/flaky')).size).toBe(1);
  });

  test('a receiver that never answers does not delay others, and is tried again', async () => {
    const silent = await Promise.all([1, 2, 3, 4, 5, 6].map(() => runWith(timers.hook('/silent'))));
    const { runId } = await runWith(timers.hook());

    await waitFor(() => idsAt('/ok').includes(runId), { what: 'the delivery to another receiver' });
    await waitFor(() => new Set(idsAt('/silent')).size === silent.length && idsAt('/silent').length > silent.length, {
      what: 'further attempts',
    });
    expect((await events()).waiting.length).toBe(silent.length);
  });

  test('a receiver that wants no more, and one that redirects, are not followed; what was given up is listed', async () => {
    const { runId } = await runWith(timers.hook('/gone'));
    await waitFor(async () => (await events()).failed.some(({ event_id }) => event_id === runId), {
      what: 'the failure',
    });

    expect((await events()).failed).toMatchObject([
      { event_id: runId, error: 'HTTP 410', attempts: 1, status: 'success' },
    ]);
    const before = timers.deliveries().length;
    const moved = await runWith(timers.hook('/moved'));
    const isTried = async () =>
      (await events()).waiting.some(({ event_id, attempts }) => event_id === moved.runId && attempts > 0);
    await waitFor(isTried, { what: 'a failed attempt' });
    expect(timers.deliveries()).toHaveLength(before);
  });

  test('a name that leads to an address of this machine is not connected to, and the event is given up', async () => {
    const threadId = await timers.newThread();
    const threads = redisThreadStore(timers.redis);
    // The API refuses this one by its name; others are known when they are resolved.
    const run = await threads.admit({ ...admission({ userId: 'alice', threadId }), webhook: 'http://localhost/hook' });
    await timers.execute(threadId);
    const isGivenUp = async () => (await events()).failed.find(({ event_id }) => event_id === run.run.run_id);

    const failed = await waitFor(async () => (await isGivenUp()) ?? false, { what: 'the failure' });
    expect(failed.error).toMatch(/leads to an address that may not be reached/);
  });

  test('of what is too large the receiver gets all but the values', async () => {
    const threadId = await timers.newThread();
    const input = { messages: 'x'.repeat(40_000) };
    await timers.send(
      'POST',
      `/threads/${threadId}/runs`,
      runOf({ input, webhook: timers.hook('/ok?large'), metadata: { order: 8 } }),
    );
    const runId = await timers.execute(threadId);
    const found = () => timers.deliveries().find(({ headers }) => headers['webhook-id'] === runId);

    const delivery = await waitFor(() => found() ?? false, { what: 'the delivery' });
    expect(delivery.body).toMatchObject({
      run_id: runId,
      metadata: { order: 8 },
      kwargs: {},
      values: null,
      truncated: true,
    });
  });

  test('nobody sees the events of another user', async () => {
    expect((await timers.send<WebhookEventsReply>('GET', '/webhooks/events', undefined, { user: 'bob' })).body).toEqual(
      {
        waiting: [],
        failed: [],
      },
    );
  });

  test.each([
    ['http://127.0.0.1/hook', 'may not be reached'],
    ['http://localhost/hook', 'may not be reached'],
    ['http://[::1]/hook', 'may not be reached'],
    ['http://169.254.169.254/latest', 'may not be reached'],
    ['http://10.0.0.5/hook', 'may not be reached'],
    ['http://2130706433/hook', 'may not be reached'],
    ['https://hooks.example.org:8443/x', 'only ports 80 and 443 are open'],
    ['ftp://hooks.example.org/x', 'must begin with http'],
    ['https://user:password@hooks.example.org/x', 'must not hold a user name'],
    ['/internal', 'not valid'],
  ])('%s is refused by name before the run is started', async (webhook, message) => {
    for (const path of ['/runs', '/runs/crons']) {
      const { status, body } = await timers.send(
        'POST',
        path,
        runOf({ webhook, ...(path.endsWith('crons') && { schedule: '@daily' }) }),
      );
      expect([status, body.detail]).toEqual([422, expect.stringMatching(/^webhook: /)]);
      expect(body.detail).toContain(message);
    }
  });
});

describe('after_seconds', () => {
  test('a run is listed at once and starts at its time, at any gateway', async () => {
    const threadId = await timers.newThread();
    const begun = performance.now();
    const started = await timers.send('POST', `/threads/${threadId}/runs`, runOf({ after_seconds: 0.4 }));
    expect(started.body).toMatchObject({ status: 'pending', kwargs: { after_seconds: 0.4 } });
    const listed = await timers.send<object[]>('GET', `/threads/${threadId}/runs`, undefined, { gateway: 1 });
    expect(listed.body).toMatchObject([{ status: 'pending' }]);

    expect(await timers.execute(threadId)).toBe(started.body['run_id']);
    expect(performance.now() - begun).toBeGreaterThan(390);
  });

  test('its stream is silent until its time, and then has all of the run', async () => {
    const threadId = await timers.newThread();
    const gateway = timers.gateways[1];
    const streamed = gateway?.app.inject({
      method: 'POST',
      url: `/api/threads/${threadId}/runs/stream`,
      headers: { 'x-api-key': 'alice-key-1' },
      payload: runOf({ after_seconds: 0.3 }),
    });
    await timers.execute(threadId);

    const frames = (await streamed)?.body ?? '';
    expect(frames).toMatch(/event: metadata[^]*event: values[^]*done/);
  });

  test('one that is too far away is refused with the limit', async () => {
    const { status, body } = await timers.send('POST', '/runs', runOf({ after_seconds: 2_592_001 }));
    expect([status, body.detail]).toEqual([422, 'after_seconds: must be at most 2592000 (quotas.max_after_seconds)']);
    expect((await timers.send('POST', '/runs', runOf({ after_seconds: -1 }))).body.detail).toMatch(/^after_seconds: /);
  });

  test('cancelled and deleted ones never start, and one that waits announces its cancellation', async () => {
    const threadId = await timers.newThread();
    const path = `/threads/${threadId}/runs`;
    const start = async () =>
      String((await timers.send('POST', path, runOf({ after_seconds: 600, webhook: timers.hook() }))).body['run_id']);
    const [cancelled, deleted] = [await start(), await start()];
    expect((await timers.send('POST', `${path}/${cancelled}/cancel`)).status).toBe(202);
    expect((await timers.send('DELETE', `${path}/${deleted}`)).status).toBe(204);

    expect((await timers.send('GET', `${path}/${cancelled}`)).body).toMatchObject({ status: 'interrupted' });
    expect((await timers.send('GET', `${path}/${deleted}`)).status).toBe(404);
    await waitFor(() => [cancelled, deleted].every((id) => idsAt('/ok').includes(id)), { what: 'both events' });
  });
});

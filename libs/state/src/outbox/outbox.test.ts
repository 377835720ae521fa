import { newId, QuotaError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { type OutboxStore, readWebhookQueue, redisDelayedRuns, redisOutbox, type WebhookEvent } from '@caribou/state';
import { human, type StoreFixture, thread, useStore, waitFor } from '@caribou/testing';

const URL = 'https://hooks.example.org/runs';
const LIMITS = { perUser: 3, perHost: 2, leaseMs: 60_000, maxAgeMs: 3_600_000, maxFailed: 2 };

let store: StoreFixture;
let outbox: OutboxStore;

useStore(
  (opened) => {
    store = opened;
    outbox = redisOutbox(opened.redis, LIMITS);
  },
  { maxWebhookEvents: 3 },
);

/** A whole run with a webhook, as its user. */
async function endRun(userId = 'alice', webhook = URL): Promise<ThreadKey & { readonly runId: string }> {
  const key = thread(userId);
  const run = await store.admit(key, { webhook });
  await store.finish(await store.claim(key));
  return { ...key, runId: run.run_id };
}

const take = async (limit = 100, token = 't1'): Promise<readonly WebhookEvent[]> =>
  (await outbox.take(limit, token)).events;

/** The only event that is due. */
async function takeOne(token = 't1'): Promise<WebhookEvent> {
  const [event, ...others] = await take(100, token);
  if (event === undefined || others.length > 0) throw new Error('one event was expected');
  return event;
}

describe('events of ended runs', () => {
  test('every end of a run with a webhook writes one event, and other runs write none', async () => {
    const ended: [string, string][] = [];
    for (const status of ['success', 'error', 'timeout', 'interrupted'] as const) {
      const key = thread(`user-${status}`);
      const run = await store.admit(key, { webhook: URL });
      await store.finish(await store.claim(key), { status });
      ended.push([run.run_id, status]);
    }
    const key = thread('rolled-back');
    const rolledBack = await store.admit(key, { webhook: URL });
    await store.finish(await store.claim(key), { rollback: true });
    const queue = thread('queued');
    await store.admit(queue);
    const queued = await store.admit(queue, { webhook: URL });
    await store.threads.requestCancel(queue, queued.run_id, 'interrupt');
    await store.turn(thread('silent'), { messages: [human('no webhook')] });
    ended.push([rolledBack.run_id, 'interrupted'], [queued.run_id, 'interrupted']);

    const seen = new Map<string, string>();
    await waitFor(
      async () => {
        for (const event of await take()) {
          seen.set(event.eventId, event.status);
          await outbox.settle(event, 't1', { kind: 'delivered' });
        }
        return seen.size === ended.length;
      },
      { what: 'the events' },
    );
    expect(seen).toEqual(new Map(ended));
    expect(await readWebhookQueue(store.redis)).toEqual({ length: 0, oldestWaitMs: 0 });
  });

  test('a run that is deleted before its time has come, and one whose thread is deleted, announce that', async () => {
    const key = thread();
    const deleted = await store.admit(key, { webhook: URL, delayMs: 60_000 });
    const left = await store.admit(key, { webhook: URL, delayMs: 60_000 });
    await store.threads.deleteRun(key, deleted.run_id);
    await store.threads.deleteThread(key);

    const events = await take();
    expect(new Map(events.map(({ eventId, status }) => [eventId, status]))).toEqual(
      new Map([deleted, left].map(({ run_id: id }) => [id, 'interrupted'])),
    );
    expect(await redisDelayedRuns(store.redis, {}).listDue(1)).toEqual({ runs: [], waitMs: null });
  });

  test('an event has what the receiver is to know even when the run is gone', async () => {
    const { threadId, runId } = await endRun();

    expect(await takeOne()).toMatchObject({
      userId: 'alice',
      eventId: runId,
      threadId,
      assistantId: 'lead_agent',
      url: URL,
      status: 'success',
      attempts: 0,
      body: null,
      startedAt: expect.stringMatching(/^\d{4}-/),
      endedAt: expect.stringMatching(/^\d{4}-/),
    });
  });

  test('a key of a foreign type stops the end of the run before anything is written', async () => {
    const key = thread();
    await store.admit(key, { webhook: URL });
    const claimed = await store.claim(key);
    await store.redis.use((client) => client.set(store.redis.keys.outbox('alice').all, 'foreign'));
    const before = await store.dump();

    await expect(store.finish(claimed)).rejects.toThrow('foreign type');
    expect(await store.dump()).toEqual(before);
  });

  test('a repeated finish writes no second event', async () => {
    const key = thread();
    await store.admit(key, { webhook: URL });
    const claimed = await store.claim(key);
    await store.finish(claimed);
    await store.finish(claimed);
    const event = await takeOne();
    await outbox.settle(event, 't1', { kind: 'delivered' });

    expect(await outbox.list('alice')).toEqual({ waiting: [], failed: [] });
  });

  test('when as many events wait as may, a further run with a webhook is refused by name', async () => {
    for (let count = 0; count < 3; count += 1) await endRun();

    await expect(store.admit(thread(), { webhook: URL })).rejects.toThrow(QuotaError);
    await expect(store.admit(thread(), { webhook: URL })).rejects.toThrow('webhooks.max_waiting_per_user');
    await expect(store.admit(thread())).resolves.toBeDefined();
  });
});

describe('attempts', () => {
  test('two processes that ask at once get different events', async () => {
    for (const user of ['a', 'b', 'c', 'd']) await endRun(user, `https://${user}.example.org/`);
    const [first, second] = await Promise.all([take(2, 't1'), take(2, 't2')]);

    expect(new Set([...first, ...second].map(({ eventId }) => eventId)).size).toBe(4);
  });

  test('a process that dies leaves its event to another one when the lease lapses, and settles nothing afterwards', async () => {
    const brief = redisOutbox(store.redis, { ...LIMITS, leaseMs: 50 });
    await endRun();
    const [lost] = (await brief.take(1, 'dead')).events;
    let again: WebhookEvent | undefined;
    await waitFor(async () => (again = (await brief.take(1, 't2')).events[0]) !== undefined, {
      what: 'the end of the lease',
    });
    if (lost === undefined || again === undefined) throw new Error('no event');

    expect(again.eventId).toBe(lost.eventId);
    expect(await brief.settle(lost, 'dead', { kind: 'delivered' })).toBe('lost');
    expect(await brief.storeBody(lost, 'dead', 'late')).toBeNull();
    expect(await brief.settle(again, 't2', { kind: 'delivered' })).toBe('delivered');
  });

  test('each attempt sends the body of the first', async () => {
    await endRun();
    const event = await takeOne();
    const first = JSON.stringify({ values: 'long '.repeat(1_000) });
    expect(await outbox.storeBody(event, 't1', first)).toBe(first);
    await outbox.settle(event, 't1', { kind: 'retry', error: 'HTTP 500', delayMs: 0 });
    const again = await takeOne('t2');

    expect(again).toMatchObject({ body: first, attempts: 1 });
    expect(await outbox.storeBody(again, 't2', 'second')).toBe(first);
  });

  test('a failed attempt is repeated after its delay, and the user sees why', async () => {
    const { runId } = await endRun();
    await outbox.settle(await takeOne(), 't1', { kind: 'retry', error: 'HTTP 500', delayMs: 60_000 });

    const { events, waitMs } = await outbox.take(1, 't1');
    expect(events).toEqual([]);
    expect(waitMs).toBeGreaterThan(50_000);
    expect((await outbox.list('alice')).waiting).toMatchObject([{ event_id: runId, attempts: 1, error: 'HTTP 500' }]);
  });

  test('an event that would be older than its limit is given up; the newest ones are listed', async () => {
    const hasty = redisOutbox(store.redis, { ...LIMITS, maxAgeMs: 1_000 });
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.push((await endRun()).runId);
      const [event] = (await hasty.take(1, 't1')).events;
      if (event === undefined) throw new Error('no event');
      expect(await hasty.settle(event, 't1', { kind: 'retry', error: 'HTTP 503', delayMs: 2_000 })).toBe('failed');
    }

    const { waiting, failed } = await hasty.list('alice');
    expect(waiting).toEqual([]);
    expect(failed.map(({ event_id, error, attempts }) => [event_id, error, attempts])).toEqual(
      ids
        .slice(1)
        .reverse()
        .map((id) => [id, 'HTTP 503', 1]),
    );
  });
});

describe('fairness', () => {
  test('users take turns, however many events one has', async () => {
    for (let count = 0; count < 3; count += 1) await endRun('busy', `https://h${count}.example.org/`);
    await endRun('modest', 'https://other.example.org/');

    expect((await take(2)).map(({ userId }) => userId).sort()).toEqual(['busy', 'modest']);
  });

  test('a host has a bounded number of deliveries at once, and events of others pass', async () => {
    for (const user of ['a', 'b', 'c']) await endRun(user, 'https://slow.example.org/hook');
    await endRun('d', 'https://quick.example.org/hook');
    const taken = await take();

    expect(taken.filter(({ url }) => url.includes('slow'))).toHaveLength(2);
    expect(taken.filter(({ url }) => url.includes('quick'))).toHaveLength(1);

    const [first] = taken.filter(({ url }) => url.includes('slow'));
    if (first === undefined) throw new Error('no event');
    await outbox.settle(first, 't1', { kind: 'delivered' });
    await waitFor(async () => (await take()).length === 1, { what: 'the event that waited for its host' });
  });

  test('a user has a bounded number of deliveries at once', async () => {
    const roomy = redisOutbox(store.redis, { ...LIMITS, perUser: 1 });
    for (let count = 0; count < 3; count += 1) await endRun('alice', `https://h${count}.example.org/`);

    expect((await roomy.take(10, 't1')).events).toHaveLength(1);
    expect((await roomy.take(10, 't1')).events).toHaveLength(0);
  });
});

test('an erased user leaves no event', async () => {
  const before = await store.keys();
  await endRun(`gone-${newId()}`);
  const [event] = await take();
  if (event === undefined) throw new Error('no event');
  await outbox.removeAll(event.userId);

  expect((await store.keys()).filter((key) => key.includes('outbox') && !key.includes('host'))).toEqual(
    before.filter((key) => key.includes('outbox')),
  );
});

import { newId, NotFoundError } from '@caribou/contracts';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisMemoryJobs } from '../memory/jobs/memory-jobs.js';
import { redisOutbox } from '../outbox/outbox.js';
import type { AdminLine } from '../ports/admission.js';
import type { DeadLetterStore } from './dead-letters.js';
import { MAX_LETTERS } from './letter-params.js';
import { redisDeadLetters } from './redis-dead-letters.js';

const URL = 'https://hooks.example.org/runs?token=abc';
const LIMITS = { perUser: 3, perHost: 20, leaseMs: 60_000, maxAgeMs: 3_600_000, maxFailed: 10 };

let store: StoreFixture;
let letters: DeadLetterStore;

useStore(
  (opened) => {
    store = opened;
    letters = redisDeadLetters(opened.redis, { debounceMs: 0 });
  },
  { leaseMs: 60_000 },
);

const line = (what: string): AdminLine => ({
  id: newId(),
  user_id: 'alice',
  operation: 'dead_letter.replay',
  what,
  verdict: 'ok',
  decided_by: 'root',
});

const auditOf = async (): Promise<unknown[]> => {
  const entries = await store.redis.use((client) => client.xrange(store.redis.keys.audit, '-', '+'));
  return entries.map(([, fields]) => JSON.parse(fields[1] ?? '') as unknown);
};

/** A run that ends with a dead letter. */
async function giveUp(userId = 'alice', message = 'too many attempts') {
  const key = thread(userId);
  const run = await store.admit(key, { kwargs: { ...(await kwargsOf(key)), input: { messages: [human('hello')] } } });
  const entry = { user_id: userId, thread_id: key.threadId, run_id: run.run_id, error: { name: 'E', message } };
  const claimed = await store.claim(key);
  await store.finish(claimed, { status: 'error', deadLetter: { id: run.run_id, entry } });
  return { ...key, runId: run.run_id, id: `run.${userId}.${run.run_id}`, claimed, entry };
}

/** The kwargs of the fixture's runs. */
async function kwargsOf(key: ReturnType<typeof thread>) {
  const other = { ...key, threadId: newId() };
  return (await store.admit(other)).kwargs;
}

describe('letters of runs', () => {
  test('the script that ends the run writes the letter, and the request of the run stays for a week', async () => {
    const { threadId, runId, id } = await giveUp();

    const { letters: found, total, nextCursor } = await letters.list({ limit: 10 });

    expect([total, nextCursor]).toEqual([1, null]);
    expect(found).toEqual([
      expect.objectContaining({ id, kind: 'run', userId: 'alice', threadId, runId, reason: 'too many attempts' }),
    ]);
    const ttl = await store.redis.use((client) => client.pttl(store.redis.keys.runKwargs('alice', runId)));
    expect(ttl).toBeGreaterThan(6.9 * 86_400_000);
    expect((await store.threads.getRun({ userId: 'alice', threadId }, runId)).kwargs_expired).toBe(false);
  });

  test('an end that is repeated by its owner writes no second letter, one by another owner none', async () => {
    const { claimed, runId, entry } = await giveUp();
    await store.finish(claimed, { status: 'error', deadLetter: { id: runId, entry } });
    const stranger = { lease: { ...claimed.lease, ownerId: 'stranger', epoch: 99 } };
    await expect(store.finish(stranger, { status: 'error', deadLetter: { id: newId(), entry } })).rejects.toThrow(
      'not owned',
    );

    expect((await letters.list({ limit: 10 })).total).toBe(1);
  });

  test('pages go from the newest to the oldest, by kind and user', async () => {
    const ids: string[] = [];
    for (const user of ['alice', 'bob', 'alice', 'bob', 'alice']) ids.unshift((await giveUp(user)).id);

    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await letters.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(page.letters.map((letter) => letter.id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);

    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat().sort()).toEqual([...ids].sort());
    expect((await letters.list({ limit: 10, userId: 'bob' })).total).toBe(2);
    expect((await letters.list({ limit: 10, kind: 'webhook' })).total).toBe(0);
    await letters.removeAll('bob');
    expect((await letters.list({ limit: 10 })).letters.map(({ userId }) => userId)).toEqual([
      'alice',
      'alice',
      'alice',
    ]);
  });

  test('above their number the oldest is removed', async () => {
    const { records, times } = store.redis.keys.letters;
    const old = Array.from({ length: MAX_LETTERS }, (_, at) => `run.alice.r${at}`);
    await store.redis.use((client) => client.zadd(times, ...old.flatMap((id, at) => [String(at), id])));
    await store.redis.use((client) => client.hset(records, Object.fromEntries(old.map((id) => [id, '{}']))));

    const { id } = await giveUp();

    expect(await store.redis.use((client) => client.zcard(times))).toBe(MAX_LETTERS);
    expect(await store.redis.use((client) => client.hlen(records))).toBe(MAX_LETTERS);
    expect(await store.redis.use((client) => client.hexists(records, 'run.alice.r0'))).toBe(0);
    expect((await letters.get(id)).id).toBe(id);
  });

  test('of several that drop a letter one does, and the audit has one line', async () => {
    const { id } = await giveUp();

    const dropped = await Promise.all([1, 2, 3].map(() => letters.remove(id, line(id))));

    expect(dropped.filter((one) => one)).toHaveLength(1);
    expect(await auditOf()).toEqual([expect.objectContaining({ what: id, decided_by: 'root' })]);
    await expect(letters.get(id)).rejects.toThrow(NotFoundError);
  });

  test('a key of a foreign type refuses the end before anything is written', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.redis.use((client) => client.set(store.redis.keys.letters.records, 'text'));
    const before = await store.dump();
    const deadLetter = { id: claimed.lease.runId, entry: {} };

    await expect(store.finish(claimed, { status: 'error', deadLetter })).rejects.toThrow('foreign type');
    expect(await store.dump()).toEqual(before);
  });
});

describe('letters of memory', () => {
  const job = (key: ReturnType<typeof thread>) => ({ ...key, agent: 'lead_agent' });
  const progress = (watermark: number) => ({ watermark, seen: ['m1'], more: false });

  async function say(key: ReturnType<typeof thread>): Promise<void> {
    await store.admit(key);
    const claimed = await store.claim(key);
    await store.step(claimed, { messages: [human('hello'), human('again')] });
    await store.finish(claimed, { remember: { agent: 'lead_agent' } });
  }

  async function takeOf(key: ReturnType<typeof thread>, owner = 'w1') {
    const taken = await jobs().take(job(key), owner);
    if (taken === null) throw new Error('the job is not ready');
    return taken;
  }

  const jobs = () => redisMemoryJobs(store.redis, { debounceMs: 0, leaseMs: 60_000 });

  test('a replay reads the messages again from where they were given up, once', async () => {
    const key = thread();
    await say(key);
    const taken = await takeOf(key);
    await jobs().deadLetter(taken, progress(taken.lastEntry), 'no JSON');
    expect((await jobs().ready(10)).jobs).toEqual([]);
    const id = `memory.alice.${key.threadId}.lead_agent`;
    const letter = await letters.get(id);
    expect(letter).toMatchObject({ kind: 'memory', agent: 'lead_agent', reason: 'no JSON' });

    const outcomes = await Promise.all([1, 2].map(() => letters.replayMemory(letter, line(id))));

    expect(outcomes.sort()).toEqual(['none', 'ok']);
    expect((await jobs().ready(10)).jobs).toEqual([job(key)]);
    expect(await takeOf(key)).toMatchObject({ watermark: 0, seen: [], attempts: 0 });
    expect(await auditOf()).toEqual([expect.objectContaining({ what: id })]);
  });

  test('two letters of a thread are one about the messages of both', async () => {
    const key = thread();
    for (let turn = 0; turn < 2; turn += 1) {
      await say(key);
      const taken = await takeOf(key);
      await jobs().deadLetter(taken, progress(taken.lastEntry), `reason ${turn}`);
    }
    const { letters: found } = await letters.list({ limit: 10 });
    expect(found.map(({ reason }) => reason)).toEqual(['reason 1']);
    expect(await letters.replayMemory(found[0] ?? (await letters.get('memory.none')), line('x'))).toBe('ok');
    expect(await takeOf(key)).toMatchObject({ watermark: 0 });
  });

  test('a thread that is read at the moment, or is gone, leaves the letter', async () => {
    const key = thread();
    await say(key);
    const taken = await takeOf(key);
    await jobs().deadLetter(taken, progress(taken.lastEntry), 'no JSON');
    await say(key);
    await takeOf(key, 'w2');
    const id = `memory.alice.${key.threadId}.lead_agent`;
    const letter = await letters.get(id);

    expect(await letters.replayMemory(letter, line(id))).toBe('busy');
    await store.threads.deleteThread(key);
    expect(await letters.replayMemory(letter, line(id))).toBe('gone');

    expect((await letters.get(id)).id).toBe(id);
    expect(await auditOf()).toEqual([]);
  });
});

describe('letters of webhooks', () => {
  const outbox = () => redisOutbox(store.redis, LIMITS);

  async function fail(userId = 'alice') {
    const key = thread(userId);
    const run = await store.admit(key, { webhook: URL });
    await store.finish(await store.claim(key));
    const [event] = (await outbox().take(10, 't1')).events;
    if (event === undefined) throw new Error('no event is due');
    await outbox().settle(event, 't1', { kind: 'failed', error: 'HTTP 500' });
    return { ...key, event, id: `webhook.${userId}.${run.run_id}` };
  }

  test('a replayed event is due again with what it had, once', async () => {
    const { id, event } = await fail();
    expect((await outbox().list('alice')).failed).toHaveLength(1);
    const letter = await letters.get(id);
    expect(letter).toMatchObject({ kind: 'webhook', reason: 'HTTP 500', runId: event.eventId });
    expect(JSON.stringify(letter)).not.toContain('token=abc');

    const outcomes = await Promise.all([1, 2].map(() => letters.replayWebhook(letter, line(id))));

    expect(outcomes.sort()).toEqual(['none', 'ok']);
    const [again, ...others] = (await outbox().take(10, 't2')).events;
    expect(others).toEqual([]);
    expect(again).toEqual({ ...event, attempts: 0, body: null });
    expect((await outbox().list('alice')).failed).toEqual([]);
    expect(await auditOf()).toEqual([expect.objectContaining({ what: id })]);
  });

  test('events of all users are paged, and one is made due now unless it is under way', async () => {
    const keys = [thread('alice'), thread('bob'), thread('carol')];
    for (const key of keys) {
      await store.admit(key, { webhook: URL });
      await store.finish(await store.claim(key));
    }
    const first = await outbox().page({ limit: 2 });
    const second = await outbox().page({ limit: 2, cursor: first.nextCursor ?? undefined });
    expect([...first.events, ...second.events].map(({ user_id: user }) => user)).toEqual(['alice', 'bob', 'carol']);
    expect(second.nextCursor).toBeNull();
    await expect(outbox().page({ limit: 2, cursor: 'nonsense' })).rejects.toThrow('cursor: ');

    const [event] = (await outbox().take(1, 't1')).events;
    if (event === undefined) throw new Error('no event is due');
    expect(await outbox().hasten(event.userId, event.eventId, line('e'))).toBe('busy');
    await outbox().settle(event, 't1', { kind: 'retry', error: 'HTTP 500', delayMs: 3_000_000 });
    expect((await outbox().take(10, 't2')).events.map(({ eventId }) => eventId)).not.toContain(event.eventId);
    expect(await outbox().hasten(event.userId, event.eventId, line('e'))).toBe('ok');
    expect((await outbox().take(10, 't3')).events.map(({ eventId }) => eventId)).toEqual([event.eventId]);
    expect(await outbox().hasten('alice', newId(), line('e'))).toBe('none');
  });
});

test('letters of tasks are those of their own part of the store', async () => {
  const part = store.redis.part('tasks');
  const { records, times } = part.keys.letters;
  const text = { kind: 'task', user_id: 'alice', thread_id: 't1', run_id: 'r1', reason: 'lost', detail: '' };
  await part.use((client) => client.hset(records, 'task.alice.r1', JSON.stringify(text)));
  await part.use((client) => client.zadd(times, 1, 'task.alice.r1'));
  const { id } = await giveUp();

  expect((await letters.list({ limit: 10 })).letters.map((letter) => letter.id)).toEqual([id, 'task.alice.r1']);
  expect(await letters.remove('task.alice.r1', line('task.alice.r1'))).toBe(true);
  expect(await auditOf()).toHaveLength(1);
});

import { newId } from '@caribou/contracts';
import { type AdminClient, useAdmin } from '../testing/admin-client.js';

interface Letters {
  readonly letters: readonly { readonly id: string; readonly kind: string; readonly user_id: string }[];
  readonly next_cursor: string | null;
  readonly total: number;
}

let admin: AdminClient;
useAdmin((client) => {
  admin = client;
});

const list = async (query = ''): Promise<Letters> =>
  (await admin.send<Letters>('GET', `/admin/dead-letters${query}`)).body;
const replay = (id: string, gateway = 0) =>
  admin.send<{ run_id: string }>('POST', `/admin/dead-letters/${id}/replay`, undefined, { gateway });

describe('dead letters', () => {
  test('show who, what, when and why', async () => {
    const thread = await admin.newThread();
    const runId = await admin.start(thread);
    const id = await admin.giveUp(thread);

    const { letters } = await list();

    expect(letters[0]).toEqual({
      id,
      kind: 'run',
      user_id: 'alice',
      thread_id: thread.threadId,
      run_id: runId,
      agent: null,
      at: expect.stringMatching(/^\d{4}-/) as unknown,
      reason: 'the run never reached its next checkpoint',
      excerpt: expect.stringContaining('AttemptsExhausted') as unknown,
    });
  });

  test('are paged, by kind and user', async () => {
    for (const user of ['alice', 'bob', 'bob', 'bob'] as const) {
      const thread = await admin.newThread(user);
      await admin.start(thread);
      await admin.giveUp(thread);
    }
    const first = await list('?user=bob&limit=2');
    const second = await list(`?user=bob&limit=2&cursor=${encodeURIComponent(first.next_cursor ?? '')}`);
    expect([first.letters.length, first.total, second.letters.length, second.next_cursor]).toEqual([2, 3, 1, null]);
    expect((await list('?kind=memory')).letters).toEqual([]);
    for (const [query, detail] of [
      ['?kind=letter', 'kind: '],
      ['?limit=0', 'limit: '],
      ['?limit=201', 'limit: '],
      ['?user=a.b', 'user: '],
      ['?colour=red', 'colour'],
    ] as const)
      expect(await admin.send('GET', `/admin/dead-letters${query}`)).toMatchObject({
        status: 422,
        body: { detail: expect.stringContaining(detail) as unknown },
      });
  });

  test('two administrators who replay a run at once, on two gateways, start one run with the same input', async () => {
    const thread = await admin.newThread();
    await admin.start(thread);
    const id = await admin.giveUp(thread);

    const [one, other] = await Promise.all([replay(id, 0), replay(id, 1)]);
    const started = [one, other].filter(({ status }) => status === 200);

    expect(started.length).toBeGreaterThan(0);
    expect(new Set(started.map(({ body }) => body.run_id)).size).toBe(1);
    // One that came after the letter was removed gets a 404.
    for (const { status } of [one, other]) expect([200, 404]).toContain(status);
    const { run } = await admin.claim(thread);
    expect(run.run_id).toBe(started[0]?.body.run_id);
    expect(run.kwargs.input?.messages).toMatchObject([{ type: 'human', content: 'hello' }]);
    const runs = await admin.send<unknown[]>('GET', `/threads/${thread.threadId}/runs`, undefined, { as: 'alice' });
    expect(runs.body).toHaveLength(2);
    expect((await list()).letters.map((letter) => letter.id)).not.toContain(id);
    expect(await admin.auditOf(id)).toEqual([
      expect.objectContaining({ operation: 'dead_letter.replay', user_id: 'alice', decided_by: 'root', verdict: 'ok' }),
    ]);
    expect((await replay(id)).status).toBe(404);
  });

  test('a replay after a crash between the admission and the removal of the letter finds the run', async () => {
    const thread = await admin.newThread();
    await admin.start(thread);
    const id = await admin.giveUp(thread);
    const { records, times } = admin.redis.keys.letters;
    const text = (await admin.redis.use((client) => client.hget(records, id))) ?? '';
    const first = await replay(id);
    await admin.answer(thread);
    await admin.redis.use((client) => client.hset(records, id, text));
    await admin.redis.use((client) => client.zadd(times, Date.now(), id));

    expect(await replay(id)).toMatchObject({ status: 200, body: { run_id: first.body.run_id } });

    expect((await list()).letters.map((letter) => letter.id)).not.toContain(id);
    expect(await admin.auditOf(id)).toHaveLength(1);
  });

  test('a run whose input is in the thread continues from there, unless the thread has continued', async () => {
    const thread = await admin.newThread();
    await admin.start(thread);
    const id = await admin.giveUp(thread, { commits: true });
    expect((await replay(id)).status).toBe(200);
    const { run, lease } = await admin.claim(thread);
    expect(run.kwargs.input).toBeNull();
    await admin.runner.finish(lease, { status: 'success', events: [] });

    const other = await admin.newThread();
    await admin.start(other);
    const left = await admin.giveUp(other, { commits: true });
    await admin.start(other);
    await admin.answer(other);
    expect(await replay(left)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('the thread has continued since') as unknown },
    });
    expect((await list()).letters.map((letter) => letter.id)).toContain(left);
  });

  test('a replay that is refused says why, and leaves the letter', async () => {
    const thread = await admin.newThread();
    const runId = await admin.start(thread);
    const id = await admin.giveUp(thread);
    await admin.redis.use((client) => client.del(admin.redis.keys.runKwargs('alice', runId)));
    expect(await replay(id)).toMatchObject({
      status: 409,
      body: { detail: 'the run cannot be started again: what was asked is no longer stored; drop the letter' },
    });
    await admin.send('DELETE', `/threads/${thread.threadId}`, undefined, { as: 'alice' });
    expect(await replay(id)).toMatchObject({ status: 409 });

    expect((await list()).letters.map((letter) => letter.id)).toContain(id);
    expect(await admin.auditOf(id)).toEqual([]);
  });

  test('a dropped letter is gone, once, and the audit says who did it', async () => {
    const thread = await admin.newThread('bob');
    await admin.start(thread);
    const id = await admin.giveUp(thread);

    const drops = await Promise.all(
      [0, 1].map((gateway) => admin.send('DELETE', `/admin/dead-letters/${id}`, undefined, { gateway })),
    );

    expect(drops.map(({ status }) => status).sort((one, other) => one - other)).toEqual([204, 404]);
    expect(await admin.auditOf(id)).toEqual([
      expect.objectContaining({ operation: 'dead_letter.drop', user_id: 'bob', thread_id: thread.threadId }),
    ]);
  });

  test.each([
    [`run.alice.${newId()}`, 404],
    ['run', 422],
    ['letter.alice.r1', 422],
    ['run.alice.r1.x.y', 422],
    ['run.al%20ice.r1', 422],
  ])('a replay of %s is a %s', async (id, status) => {
    expect((await replay(id)).status).toBe(status);
    expect((await admin.send('DELETE', `/admin/dead-letters/${id}`)).status).toBe(status);
  });
});

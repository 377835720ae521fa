import { type StoreFixture, useStore } from '@caribou/testing';
import { readCronUsers, readMemoryUsers, readWebhookUsers } from './due-users.js';

let store: StoreFixture;

useStore((opened) => {
  store = opened;
});

const add = (key: string, members: readonly (readonly [number, string])[]) =>
  store.redis.use((client) => client.zadd(key, ...members.flat()));

describe('users who wait in queues of due times', () => {
  test('are counted by what is due, the most first', async () => {
    const { redis } = store;
    const due = redis.keys.cron('none', 'none').due;
    await add(due, [
      [1, 'bob/c1'],
      [2, 'alice/c2'],
      [3, 'alice/c3'],
      [Date.now() + 60_000, 'carol/c4'],
    ]);

    expect(await readCronUsers(redis)).toEqual({
      users: [
        { userId: 'alice', waiting: 2 },
        { userId: 'bob', waiting: 1 },
      ],
      isWhole: true,
    });
    expect(await readWebhookUsers(redis)).toEqual({ users: [], isWhole: true });
  });

  test('of memory count once their threads are quiet', async () => {
    const { redis } = store;
    await add(redis.keys.memoryQueue, [
      [Date.now() - 120_000, 'alice/t1/lead_agent'],
      [Date.now() - 10_000, 'bob/t2/lead_agent'],
    ]);

    expect((await readMemoryUsers(redis, 60_000)).users).toEqual([{ userId: 'alice', waiting: 1 }]);
  });

  test('at most a thousand entries are read and twenty users shown', async () => {
    const members = Array.from({ length: 1_001 }, (_, index) => [index + 1, `user${index % 30}/e${index}`] as const);
    await add(store.redis.keys.outbox('none').all, members);

    const { users, isWhole } = await readWebhookUsers(store.redis);
    expect([users.length, isWhole]).toEqual([20, false]);
  });
});

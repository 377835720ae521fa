import { ConflictError, FencedError, TooLargeError } from '@caribou/contracts';
import type { ExecutionEntry, ExecutionJournal, SandboxRegistry } from '@caribou/core';
import { human, openStores, startRedis, type StoreFixture, type TestServer, thread } from '@caribou/testing';
import { redisExecutionJournal } from './execution-journal.js';
import { redisSandboxRegistry } from './sandbox-registry.js';

let server: TestServer;
let store: StoreFixture;
let registry: SandboxRegistry;
let journal: ExecutionJournal;

beforeAll(async () => {
  server = await startRedis({ appendonly: false });
});
beforeEach(() => {
  store = openStores(server.url);
  registry = redisSandboxRegistry(store.redis);
  journal = redisExecutionJournal(store.redis);
});
afterEach(async () => {
  await store.close();
});
afterAll(async () => {
  await server.stop();
});

const docker = (managerId: string, epoch: number) => ({
  managerId,
  sandboxId: `box-of-${managerId}`,
  driver: 'docker' as const,
  epoch,
});

/** A thread with an owner, bound to a live manager `m1`. */
async function boundThread() {
  const key = thread();
  await store.admit(key);
  const claimed = await store.claim(key);
  const { epoch } = claimed.lease;
  await registry.renewManager('m1', 60_000);
  await registry.bind(key, docker('m1', epoch));
  const entry: ExecutionEntry = {
    key: 'run:call',
    argsHash: 'h',
    kind: 'exec',
    epoch,
    managerId: 'm1',
    sandboxId: 'box-of-m1',
  };
  return { key, claimed, epoch, entry };
}

describe(redisSandboxRegistry, () => {
  test('a manager notices that its lease had lapsed, once', async () => {
    expect(await registry.renewManager('m1', 60_000)).toEqual({ lapsed: false });
    expect(await registry.renewManager('m1', 60_000)).toEqual({ lapsed: false });
    expect(await registry.isManagerAlive('m1')).toBe(true);
    await store.redis.use((client) => client.del(store.redis.keys.manager('m1')));

    expect(await registry.isManagerAlive('m1')).toBe(false);
    expect(await registry.renewManager('m1', 60_000)).toEqual({ lapsed: true });
    expect(await registry.renewManager('m1', 60_000)).toEqual({ lapsed: false });
  });

  test('the first binding stands while its manager lives, and is taken over when it is gone', async () => {
    const { key, epoch } = await boundThread();
    await registry.renewManager('m2', 60_000);

    expect(await registry.bind(key, docker('m2', epoch))).toEqual({
      managerId: 'm1',
      sandboxId: 'box-of-m1',
      driver: 'docker',
    });
    await registry.releaseManager('m1');
    await registry.releaseManager('m1');
    expect(await registry.bind(key, docker('m2', epoch))).toEqual({
      managerId: 'm2',
      sandboxId: 'box-of-m2',
      driver: 'docker',
    });
    expect(await registry.binding(key)).toEqual({ managerId: 'm2', sandboxId: 'box-of-m2', driver: 'docker' });
    expect(await registry.binding(thread())).toBeNull();
  });

  test('a takeover never changes the driver', async () => {
    const { key, epoch } = await boundThread();
    await registry.releaseManager('m1');

    await expect(registry.bind(key, { ...docker('m2', epoch), driver: 'bwrap' })).rejects.toThrow(ConflictError);
    expect(await registry.binding(key)).toMatchObject({ managerId: 'm1', driver: 'docker' });
  });

  test('only the epoch of the live lease may bind', async () => {
    const { key, epoch, claimed } = await boundThread();
    expect(await registry.currentEpoch(key)).toBe(epoch);

    await expect(registry.bind(key, docker('m1', epoch - 1))).rejects.toThrow(FencedError);
    await store.finish(claimed);
    await expect(registry.bind(key, docker('m1', epoch))).rejects.toThrow(FencedError);
    expect(await registry.currentEpoch(key)).toBe(0);
  });
});

describe(redisExecutionJournal, () => {
  test('an execution is new once, then running, then done with its result', async () => {
    const { key, entry } = await boundThread();

    expect(await journal.peek(key, entry)).toEqual({ state: 'new' });
    const answers = await Promise.all([1, 2, 3].map(() => journal.start(key, entry)));
    expect(answers.filter((answer) => answer.state === 'new')).toHaveLength(1);
    expect(await journal.start(key, entry)).toEqual({ state: 'running', managerId: 'm1' });
    await journal.finish(key, entry.key, { managerId: 'm1', result: { text: 'ok', list: [] } });
    await journal.finish(key, entry.key, { managerId: 'm1', result: { text: 'other' } });

    expect(await journal.start(key, entry)).toEqual({ state: 'done', result: { text: 'ok', list: [] } });
    expect(await journal.peek(key, { ...entry, argsHash: 'other' })).toEqual({ state: 'mismatch' });
  });

  test('another epoch, manager or sandbox may neither start nor ask', async () => {
    const { key, entry } = await boundThread();

    for (const wrong of [{ epoch: entry.epoch + 1 }, { managerId: 'm2' }, { sandboxId: 'other' }]) {
      await expect(journal.start(key, { ...entry, ...wrong })).rejects.toThrow(FencedError);
      await expect(journal.peek(key, { ...entry, ...wrong })).rejects.toThrow(FencedError);
    }
    expect(await journal.peek(key, entry)).toEqual({ state: 'new' });
  });

  test('a lost execution ends as unknown by the bound manager, and its starter cannot change that', async () => {
    const { key, entry, epoch } = await boundThread();
    await journal.start(key, entry);
    const lost = { startedBy: 'm1', by: 'm2', result: { unknown: true } };

    await expect(journal.markUnknown(key, entry.key, lost)).rejects.toThrow(FencedError);
    await registry.releaseManager('m1');
    await registry.bind(key, docker('m2', epoch));
    await expect(journal.markUnknown(key, entry.key, { ...lost, startedBy: 'm3' })).rejects.toThrow(FencedError);
    expect(await journal.markUnknown(key, entry.key, lost)).toEqual({ result: { unknown: true } });
    expect(await journal.markUnknown(key, entry.key, { ...lost, result: 'second' })).toEqual({
      result: { unknown: true },
    });

    await expect(journal.finish(key, entry.key, { managerId: 'm1', result: 1 })).rejects.toThrow(FencedError);
    expect(await journal.peek(key, { ...entry, managerId: 'm2', sandboxId: 'box-of-m2' })).toEqual({
      state: 'done',
      result: { unknown: true },
    });
  });

  test('an earlier result wins over unknown', async () => {
    const { key, entry } = await boundThread();
    await journal.start(key, entry);
    await journal.finish(key, entry.key, { managerId: 'm1', result: 'real' });

    expect(await journal.markUnknown(key, entry.key, { startedBy: 'm1', by: 'm1', result: 'unknown' })).toEqual({
      result: 'real',
    });
  });

  test('what was never started cannot be finished, and a result above 2 MiB is refused', async () => {
    const { key, entry } = await boundThread();

    await expect(journal.finish(key, 'other:key', { managerId: 'm1', result: 1 })).rejects.toThrow(FencedError);
    await journal.start(key, entry);
    await expect(
      journal.finish(key, entry.key, { managerId: 'm1', result: 'x'.repeat(2 * 1024 * 1024) }),
    ).rejects.toThrow(TooLargeError);
  });

  test('entries have a deadline and go with their thread', async () => {
    const { key, entry, claimed } = await boundThread();
    await journal.start(key, entry);
    const name = store.redis.keys.executionPrefix(key) + entry.key;
    expect(await store.redis.use((client) => client.pttl(name))).toBeGreaterThan(3_600_000);
    await store.step(claimed, { messages: [human('a')] });
    await store.finish(claimed);

    await store.threads.deleteThread(key);

    expect((await store.keys()).filter((left) => !left.includes('manager'))).toEqual([]);
  });
});

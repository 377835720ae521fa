import { ConflictError, FencedError, TooLargeError } from '@caribou/contracts';
import type { ExecutionEntry, ExecutionJournal, SandboxRegistry } from '@caribou/core';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisExecutionJournal } from './execution-journal.js';
import { redisSandboxRegistry } from './sandbox-registry.js';

let store: StoreFixture;
let registry: SandboxRegistry;
let journal: ExecutionJournal;

useStore((opened) => {
  store = opened;
  registry = redisSandboxRegistry(store.redis);
  journal = redisExecutionJournal(store.redis);
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

  test('the first binding is valid while its manager lives, and is taken over afterwards', async () => {
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

  test('a thread that its manager has given back goes to the next one that proposes, although that manager lives', async () => {
    const { key, epoch, entry } = await boundThread();
    await registry.renewManager('m2', 60_000);

    expect(await registry.giveBack(key, 'm2')).toBe(false);
    expect(await registry.binding(key)).toMatchObject({ managerId: 'm1' });
    expect(await registry.giveBack(key, 'm1')).toBe(true);
    expect(await registry.giveBack(key, 'm1')).toBe(false);

    expect(await registry.binding(key)).toEqual({ managerId: '', sandboxId: 'box-of-m1', driver: 'docker' });
    expect(await registry.isManagerAlive('')).toBe(false);
    await expect(journal.start(key, entry)).rejects.toMatchObject({ details: { reason: 'another_binding' } });
    await expect(registry.bind(key, { ...docker('m2', epoch), driver: 'bwrap' })).rejects.toThrow(ConflictError);
    expect(await registry.bind(key, docker('m2', epoch))).toMatchObject({ managerId: 'm2', sandboxId: 'box-of-m2' });
    expect(await registry.giveBack(thread(), 'm1')).toBe(false);
  });

  test('a lapsed lease that was not released is taken over with its lapse, unless it was renewed since', async () => {
    const { key, epoch } = await boundThread();
    const lapse = () => store.redis.use((client) => client.del(store.redis.keys.manager('m1')));
    await lapse();

    const seen = await registry.bind(key, docker('m2', epoch));
    expect(seen).toMatchObject({ managerId: 'm1', sandboxId: 'box-of-m1', lapse: expect.any(String) });
    const again = { ...docker('m2', epoch), ...(seen.lapse === undefined ? {} : { lapse: seen.lapse }) };
    await registry.renewManager('m1', 60_000);
    await lapse();
    const later = await registry.bind(key, again);
    expect(later).toMatchObject({ managerId: 'm1', lapse: expect.any(String) });
    expect(later.lapse).not.toBe(seen.lapse);

    expect(await registry.bind(key, { ...again, lapse: later.lapse ?? '' })).toEqual({
      managerId: 'm2',
      sandboxId: 'box-of-m2',
      driver: 'docker',
    });
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

  test('another epoch, manager or sandbox may neither start an execution nor read its state', async () => {
    const { key, entry } = await boundThread();

    for (const [wrong, reason] of [
      [{ epoch: entry.epoch + 1 }, 'another_epoch'],
      [{ managerId: 'm2' }, 'another_binding'],
      [{ sandboxId: 'other' }, 'another_binding'],
    ] as const) {
      const refusal = { code: 'fenced', details: { reason } };
      await expect(journal.start(key, { ...entry, ...wrong })).rejects.toMatchObject(refusal);
      await expect(journal.peek(key, { ...entry, ...wrong })).rejects.toMatchObject(refusal);
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

  test('an execution that was never started cannot be finished, and a result above 2 MiB is refused', async () => {
    const { key, entry } = await boundThread();

    await expect(journal.finish(key, 'other:key', { managerId: 'm1', result: 1 })).rejects.toThrow(FencedError);
    await journal.start(key, entry);
    await expect(
      journal.finish(key, entry.key, { managerId: 'm1', result: 'x'.repeat(2 * 1024 * 1024) }),
    ).rejects.toThrow(TooLargeError);
  });

  test('an execution that was never started can be withdrawn, and cannot be started afterwards', async () => {
    const { key, entry } = await boundThread();
    const { managerId: _manager, sandboxId: _sandbox, ...call } = entry;
    expect(await journal.find(key, call)).toEqual({ state: 'new' });
    await expect(journal.withdraw(key, { ...call, epoch: entry.epoch + 1 }, 'gone')).rejects.toThrow(FencedError);

    expect(await journal.withdraw(key, call, 'gone')).toEqual({ state: 'withdrawn' });

    expect(await journal.start(key, entry)).toEqual({ state: 'done', result: 'gone' });
    expect(await journal.withdraw(key, call, 'again')).toEqual({ state: 'done', result: 'gone' });
    expect(await journal.find(key, call)).toEqual({ state: 'done', result: 'gone' });
  });

  test('an execution that was started cannot be withdrawn, and its state is returned instead', async () => {
    const { key, entry } = await boundThread();
    const { managerId: _manager, sandboxId: _sandbox, ...call } = entry;
    await journal.start(key, entry);

    expect(await journal.withdraw(key, call, 'gone')).toEqual({ state: 'running', managerId: 'm1' });
    expect(await journal.find(key, call)).toEqual({ state: 'running', managerId: 'm1' });
    expect(await journal.find(key, { ...call, argsHash: 'other' })).toEqual({ state: 'mismatch' });
    await journal.finish(key, entry.key, { managerId: 'm1', result: 'real' });

    expect(await journal.withdraw(key, call, 'gone')).toEqual({ state: 'done', result: 'real' });
  });

  test.each([{}, { rollback: true }])(
    'entries are stored as long as their run may be taken over (finish: %j)',
    async (end) => {
      const { key, entry, claimed } = await boundThread();
      const name = store.redis.keys.executionPrefix(key) + entry.key;
      const ttlMs = (key: string) => store.redis.use((client) => client.pttl(key));
      await journal.start(key, entry);
      await journal.finish(key, entry.key, { managerId: 'm1', result: 'done' });
      expect([await ttlMs(name), await ttlMs(store.redis.keys.thread(key).executions)]).toEqual([-1, -1]);

      await store.finish(claimed, end);

      expect(await ttlMs(name)).toBeGreaterThan(23 * 3_600_000);
      expect(await ttlMs(store.redis.keys.thread(key).executions)).toBeGreaterThan(23 * 3_600_000);
    },
  );

  test('an expired entry leaves the list of its thread, and no entry is stored longer than its own run asked', async () => {
    const key = thread();
    const list = store.redis.keys.thread(key).executions;
    const older = `${store.redis.keys.executionPrefix(key)}older:call`;
    await store.redis.use((client) => client.sadd(list, 'expired:call', 'older:call'));
    await store.redis.use((client) => client.set(older, '', 'PX', 60_000));
    await store.admit(key);

    await store.finish(await store.claim(key));

    expect(await store.redis.use((client) => client.smembers(list))).toEqual(['older:call']);
    expect(await store.redis.use((client) => client.pttl(older))).toBeLessThanOrEqual(60_000);
  });

  test('entries are removed with their thread', async () => {
    const { key, entry, claimed } = await boundThread();
    await journal.start(key, entry);
    await store.step(claimed, { messages: [human('a')] });
    await store.finish(claimed);

    await store.threads.deleteThread(key);
    await store.filesGone(key);

    expect((await store.keys()).filter((left) => !left.includes('manager'))).toEqual([]);
  });
});

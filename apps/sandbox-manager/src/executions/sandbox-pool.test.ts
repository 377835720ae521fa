import { type Clock, systemClock } from '@caribou/core';
import { REPLACEMENT_NOTICE } from './replacement-notice.js';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { commandOf, testManager, thread, until } from '../testing/test-manager.js';

describe('SandboxPool', () => {
  let registry: InMemoryRegistry;
  let driver: FakeDriver;

  beforeEach(() => {
    registry = new InMemoryRegistry();
    for (const id of ['t1', 't2', 't3', 't4']) registry.epochs.set(`default/${id}`, 1);
    driver = new FakeDriver();
  });

  test('concurrent acquires make one sandbox, and answer the same (P1)', async () => {
    const { pool } = testManager('m1', registry, driver);

    const records = await Promise.all([1, 2, 3, 4].map(() => pool.acquire(thread, 1)));

    expect(driver.created).toEqual([{ sandboxId: 'sandbox-t1', fresh: true, running: 0 }]);
    expect(new Set(records.map((record) => JSON.stringify(record)))).toEqual(
      new Set(['{"managerId":"m1","sandboxId":"sandbox-t1","driver":"docker"}']),
    );
  });

  test('of two managers one gets the thread; the other names it (P1)', async () => {
    const one = testManager('m1', registry, driver);
    const two = testManager('m2', registry, driver.ofAnotherManager());

    const records = await Promise.all([one.pool.acquire(thread, 1), two.pool.acquire(thread, 1)]);

    expect(records[0]).toEqual(records[1]);
  });

  test('a manager that is gone is followed by another, with the same sandbox and driver (P1, P2, P3)', async () => {
    await testManager('m1', registry, driver).pool.acquire(thread, 1);
    registry.alive.delete('m1');
    const other = driver.ofAnotherManager();

    expect(await testManager('m2', registry, other).pool.acquire(thread, 1)).toEqual({
      managerId: 'm2',
      sandboxId: 'sandbox-t1',
      driver: 'docker',
    });
    expect(other.created).toEqual([{ sandboxId: 'sandbox-t1', fresh: true, running: 0 }]);
  });

  test.each([
    ['renews its lease within the grace keeps the thread', true, 'm1'],
    ['does not is followed by another', false, 'm2'],
  ])('a manager whose lease had run out and who %s (P8)', async (_, renews, expected) => {
    await testManager('m1', registry, driver).pool.acquire(thread, 1);
    await registry.renewManager('m1');
    registry.alive.delete('m1');
    const clock = { ...systemClock, sleep: async () => void (renews && (await registry.renewManager('m1'))) };

    const record = await testManager('m2', registry, driver.ofAnotherManager(), clock).pool.acquire(thread, 1);

    expect([record.managerId, (await registry.binding(thread))?.managerId]).toEqual([expected, expected]);
  });

  test('a thread that began with a driver which is not here is refused, not moved (P3)', async () => {
    await testManager('m1', registry, driver).pool.acquire(thread, 1);
    registry.alive.delete('m1');
    const { pool } = testManager('m2', registry, new FakeDriver('bwrap'));

    await expect(pool.acquire(thread, 1)).rejects.toThrow(/began in a docker sandbox/);
    expect((await registry.binding(thread))?.managerId).toBe('m1');
  });

  test('a new thread of a deleted one gets another sandbox, though its id is the same (P7)', async () => {
    const { pool } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);
    registry.bindings.delete('default/t1');
    await Promise.all([pool.acquire(thread, 1), pool.acquire(thread, 1)]);

    expect(driver.removed).toEqual(['sandbox-t1']);
    expect(driver.created).toHaveLength(2);
  });

  test('the id of a deleted thread that is bound to another manager by now: its sandbox is not touched (P7)', async () => {
    const { pool } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);
    registry.alive.add('m2');
    registry.bindings.set('default/t1', { managerId: 'm2', sandboxId: 'sandbox-t1', driver: 'docker' });

    expect(await pool.acquire(thread, 1)).toMatchObject({ managerId: 'm2' });
    expect(pool.holds('sandbox-t1')).toBe(false);
    expect(driver.removed).toEqual([]);
  });

  test('sandboxes of deleted threads go with the next look, the others stay (P7)', async () => {
    const { pool } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);
    await pool.acquire({ userId: 'default', threadId: 't2' }, 1);
    registry.bindings.delete('default/t1');
    await pool.removeUnbound();

    expect(driver.removed).toEqual(['sandbox-t1']);
    expect(pool.holds('sandbox-t2')).toBe(true);
  });

  test('a stale epoch acquires nothing', async () => {
    const { pool } = testManager('m1', registry, driver);

    await expect(pool.acquire(thread, 7)).rejects.toMatchObject({ code: 'fenced' });
    expect(driver.created).toEqual([]);
  });

  test('a sandbox that could not be made is tried again by the next caller', async () => {
    const { pool } = testManager('m1', registry, driver);
    const create = jest.spyOn(driver, 'create').mockRejectedValueOnce(new Error('engine away'));

    await expect(pool.acquire(thread, 1)).rejects.toThrow('engine away');
    await pool.acquire(thread, 1);

    expect(create.mock.calls.map(([, options]) => options)).toEqual([{ fresh: true }, { fresh: true }]);
  });

  test('holds a sandbox only under its own id', async () => {
    const { pool } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);

    expect(pool.requireHeld(thread, 'sandbox-t1').spec.managerId).toBe('m1');
    expect(() => pool.requireHeld(thread, 'sandbox-t2')).toThrow(/does not hold/);
    expect(() => pool.requireHeld({ userId: 'other', threadId: 't1' }, 'sandbox-t1')).toThrow(/does not hold/);
    expect([pool.release(thread, 'sandbox-t1'), pool.release(thread, 'x')]).toEqual([true, false]);
  });

  test('removes the longest unused sandboxes when there are too many, and any that is idle for long, but none at work (P4)', async () => {
    const time = { ms: 0 };
    const clock: Clock = { now: () => time.ms, monotonicMs: () => time.ms, sleep: () => Promise.resolve() };
    const { pool } = testManager('m1', registry, driver, clock);
    await pool.acquire(thread, 1);
    let release = (): void => undefined;
    const working = pool.use(
      pool.requireHeld(thread, 'sandbox-t1'),
      () => new Promise<void>((resolve) => (release = resolve)),
    );
    for (const [index, threadId] of ['t2', 't3', 't4'].entries()) {
      time.ms = 1 + index;
      await pool.acquire({ userId: 'default', threadId }, 1);
    }
    await until(() => driver.removed.length > 1);
    expect(driver.removed).toEqual(['sandbox-t2', 'sandbox-t3']);

    time.ms = 60_000;
    await pool.removeIdle();
    expect(driver.removed).toEqual(['sandbox-t2', 'sandbox-t3']);
    time.ms = 60_004;
    await pool.removeIdle();
    expect(driver.removed).toEqual(['sandbox-t2', 'sandbox-t3', 'sandbox-t4']);

    release();
    await working;
    await pool.close();
    expect(driver.removed).toContain('sandbox-t1');
  });

  test('one sandbox too many makes the longest unused one go at once (P4)', async () => {
    const { pool } = testManager('m1', registry, driver);
    for (const threadId of ['t1', 't2', 't3']) await pool.acquire({ userId: 'default', threadId }, 1);
    await until(() => driver.removed.length > 0);

    expect(driver.removed).toEqual(['sandbox-t1']);
  });

  test('a sandbox that went away between two runs is made again by the acquire, and the next command says so once (P6)', async () => {
    const { pool, executor } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);
    driver.gone = true;

    await pool.acquire(thread, 1);
    expect(driver.created.map(({ fresh }) => fresh)).toEqual([true, false]);
    expect(await executor.execute(commandOf('echo a', { key: 'a' }))).toMatchObject({
      stdout: 'a',
      stderr: REPLACEMENT_NOTICE,
    });
    expect(await executor.execute(commandOf('echo b', { key: 'b' }))).toMatchObject({ stdout: 'b', stderr: '' });
  });

  test('two that find a sandbox gone make it again once (P1, P6)', async () => {
    const { pool } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);
    const sandbox = pool.requireHeld(thread, 'sandbox-t1');
    const seen = sandbox.readiness;

    await Promise.all([pool.replace(sandbox, seen), pool.replace(sandbox, seen)]);

    expect(driver.created).toHaveLength(2);
  });

  test('a sandbox that has passed to another manager is not made again here (P1)', async () => {
    const { pool } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);
    const sandbox = pool.requireHeld(thread, 'sandbox-t1');
    registry.bindings.set('default/t1', { managerId: 'm2', sandboxId: 'sandbox-t1', driver: 'docker' });
    await pool.dropForeign();

    await expect(pool.replace(sandbox, sandbox.readiness)).rejects.toMatchObject({ code: 'unavailable' });
    expect(driver.created).toHaveLength(1);
  });

  test('a sandbox that is being removed is made again only after that (P4)', async () => {
    const { pool } = testManager('m1', registry, driver);
    await pool.acquire(thread, 1);
    let removed = (): void => undefined;
    jest.spyOn(driver, 'remove').mockImplementationOnce(() => new Promise((resolve) => (removed = resolve)));
    for (const threadId of ['t2', 't3']) await pool.acquire({ userId: 'default', threadId }, 1);
    const again = pool.acquire(thread, 1);
    await until(() => pool.holds('sandbox-t1'));
    expect(driver.created.map(({ sandboxId }) => sandboxId)).toEqual(['sandbox-t1', 'sandbox-t2', 'sandbox-t3']);
    removed();

    await again;
    expect(driver.created.map(({ sandboxId }) => sandboxId)).toEqual([
      'sandbox-t1',
      'sandbox-t2',
      'sandbox-t3',
      'sandbox-t1',
    ]);
  });

  test('closing removes a sandbox that is just being made, and makes no more (P4)', async () => {
    const { pool } = testManager('m1', registry, driver);
    const acquired = pool.acquire(thread, 1);
    await until(() => pool.holds('sandbox-t1'));
    await pool.close();
    await acquired;

    expect(driver.removed).toEqual(['sandbox-t1']);
    await expect(pool.acquire({ userId: 'default', threadId: 't2' }, 1)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

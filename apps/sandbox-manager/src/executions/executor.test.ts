import type { Clock } from '@caribou/core';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { commandOf, type TestManager, testManager, thread, until } from '../testing/test-manager.js';

/** Sleeps end at once. */
const impatient: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  sleep: () => new Promise((resolve) => setImmediate(resolve)),
};

describe('Executor', () => {
  let registry: InMemoryRegistry;
  let driver: FakeDriver;
  let manager: TestManager;

  beforeEach(async () => {
    registry = new InMemoryRegistry();
    registry.epochs.set('default/t1', 1);
    driver = new FakeDriver();
    manager = testManager('m1', registry, driver, impatient);
    await manager.pool.acquire(thread, 1);
  });

  const firstRunning = async () => {
    await until(() => driver.running.size > 0);
    const [command] = driver.running;
    if (command === undefined) throw new Error('nothing runs');
    return command;
  };

  test('two requests with one key run once and get the same reply (E1, E4)', async () => {
    const both = [manager.executor.execute(commandOf('sleep')), manager.executor.execute(commandOf('sleep'))];
    (await firstRunning()).finish();

    const replies = await Promise.all(both);

    expect(driver.ran).toEqual(['sleep']);
    expect(replies[0]).toEqual(replies[1]);
    expect(replies[0]).toMatchObject({ outcome: 'done', exit_code: 0, stdout: 'done sleep' });
  });

  test('a later request with the key gets the kept result (E4)', async () => {
    const first = await manager.executor.execute(commandOf('echo hi'));

    expect(await manager.executor.execute(commandOf('echo hi'))).toEqual(first);
    expect(driver.ran).toEqual(['echo hi']);
  });

  test('the key with other arguments is refused, while it runs and afterwards (E4)', async () => {
    const running = manager.executor.execute(commandOf('sleep'));
    await firstRunning();

    await expect(manager.executor.execute(commandOf('echo other'))).rejects.toMatchObject({ code: 'conflict' });
    (await firstRunning()).finish();
    await running;
    await expect(manager.executor.execute(commandOf('echo other'))).rejects.toMatchObject({ code: 'conflict' });
    expect(driver.ran).toEqual(['sleep']);
  });

  test('a stale epoch neither begins, attaches, reads a result nor cancels (E2, E5)', async () => {
    const running = manager.executor.execute(commandOf('sleep'));
    await firstRunning();
    registry.epochs.set('default/t1', 2);

    await expect(manager.executor.execute(commandOf('sleep', { epoch: 1 }))).rejects.toMatchObject({ code: 'fenced' });
    await expect(manager.executor.execute(commandOf('echo x', { key: 'new', epoch: 1 }))).rejects.toMatchObject({
      code: 'fenced',
    });
    await expect(manager.executor.cancel(thread, 1, 'run:call')).rejects.toMatchObject({ code: 'fenced' });
    expect(driver.running.size).toBe(1);

    (await firstRunning()).finish();
    await running;
    await expect(manager.executor.execute(commandOf('sleep', { epoch: 1 }))).rejects.toMatchObject({ code: 'fenced' });
    expect(await manager.executor.execute(commandOf('sleep', { epoch: 2 }))).toMatchObject({ outcome: 'done' });
    expect(driver.ran).toEqual(['sleep']);
  });

  test('a cancel with the current epoch ends the command and is its result (E5)', async () => {
    const running = manager.executor.execute(commandOf('sleep'));
    await firstRunning();

    expect(await manager.executor.cancel(thread, 1, 'run:call')).toBe(true);
    expect(await running).toMatchObject({ outcome: 'done', cancelled: true });
    expect(await manager.executor.cancel(thread, 1, 'run:call')).toBe(false);
    expect(await manager.executor.execute(commandOf('sleep'))).toMatchObject({ cancelled: true });
    expect(driver.ran).toEqual(['sleep']);
  });

  test('a command that is cancelled while it waits never begins, and stays cancelled (E5, E7)', async () => {
    const first = manager.executor.execute(commandOf('sleep 1', { key: 'a' }));
    await firstRunning();
    const second = manager.executor.execute(commandOf('sleep 2', { key: 'b' }));
    await manager.executor.cancel(thread, 1, 'b');
    (await firstRunning()).finish();
    await first;

    expect(await second).toMatchObject({ outcome: 'done', cancelled: true });
    expect(await manager.executor.execute(commandOf('sleep 2', { key: 'b' }))).toMatchObject({ cancelled: true });
    expect(driver.ran).toEqual(['sleep 1']);
  });

  test('commands of one thread run one at a time in their order, and only so many wait (E7)', async () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((key) =>
      manager.executor.execute(commandOf(`sleep ${key}`, { key })).catch((error: unknown) => error),
    );
    for (let turn = 0; turn < 4; turn += 1) (await firstRunning()).finish();
    const replies = await Promise.all(all);

    expect(driver.ran).toEqual(['sleep a', 'sleep b', 'sleep c', 'sleep d']);
    expect(driver.mostAtOnce).toBe(1);
    expect(replies[4]).toMatchObject({ code: 'rate_limited' });
  });

  test('nothing is entered in the journal while it only waits (E2)', async () => {
    const first = manager.executor.execute(commandOf('sleep 1', { key: 'a' }));
    await firstRunning();
    const second = manager.executor.execute(commandOf('echo 2', { key: 'b' }));
    await until(() => registry.starts.length > 0);

    expect(registry.starts).toEqual(['a']);
    (await firstRunning()).finish();
    await Promise.all([first, second]);
    expect(registry.starts).toEqual(['a', 'b']);
  });

  test('a kept result is told at once, although another command runs', async () => {
    const kept = await manager.executor.execute(commandOf('echo kept', { key: 'a' }));
    const running = manager.executor.execute(commandOf('sleep', { key: 'b' }));
    await firstRunning();

    expect(await manager.executor.execute(commandOf('echo kept', { key: 'a' }))).toEqual(kept);
    (await firstRunning()).finish();
    await running;
  });

  test('nothing is told before the journal has it, however long that takes (E3)', async () => {
    let told = false;
    const running = manager.executor.execute(commandOf('sleep')).then((reply) => {
      told = true;
      return reply;
    });
    const command = await firstRunning();
    registry.away = true;
    command.finish();
    for (let turn = 0; turn < 50; turn += 1) await impatient.sleep(0);
    expect(told).toBe(false);
    registry.away = false;

    expect(await running).toMatchObject({ outcome: 'done' });
    expect(registry.entries.get('default/t1/run:call')?.result?.value).toMatchObject({ outcome: 'done' });
  });

  test('nothing begins while the journal is away, and asking again then runs it (E2)', async () => {
    registry.away = true;
    await expect(manager.executor.execute(commandOf('echo x'))).rejects.toMatchObject({ code: 'unavailable' });
    registry.away = false;

    expect(await manager.executor.execute(commandOf('echo x'))).toMatchObject({ outcome: 'done' });
    expect(driver.ran).toEqual(['echo x']);
  });

  test('nothing begins once the own lease has run out, and what was entered then runs later (E1, E2)', async () => {
    manager.lease.held = false;
    await expect(manager.executor.execute(commandOf('echo x'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(driver.ran).toEqual([]);
    manager.lease.held = true;

    expect(await manager.executor.execute(commandOf('echo x'))).toMatchObject({ outcome: 'done', stdout: 'x' });
    expect(registry.starts).toEqual(['run:call']);
  });

  test('what a manager that is gone had started is ended first, then unknown, and never run again (E6)', async () => {
    void manager.executor.execute(commandOf('sleep')).catch(() => undefined);
    await firstRunning();
    registry.alive.delete('m1');
    const machine = driver.ofAnotherManager();
    const successor = testManager('m2', registry, machine, impatient);

    await successor.pool.acquire(thread, 1);
    expect(machine.created).toEqual([{ sandboxId: 'sandbox-t1', fresh: true, running: 0 }]);
    const reply = await successor.executor.execute(commandOf('sleep'));

    expect(reply).toMatchObject({ outcome: 'unknown' });
    expect(await successor.executor.execute(commandOf('sleep'))).toEqual(reply);
    expect(machine.ran).toEqual([]);
  });

  test('a manager whose execution was declared unknown tells nobody another result (E3, E6)', async () => {
    const late = manager.executor.execute(commandOf('sleep'));
    const command = await firstRunning();
    registry.alive.delete('m1');
    const successor = testManager('m2', registry, driver.ofAnotherManager(), impatient);
    await successor.pool.acquire(thread, 1);
    const unknown = await successor.executor.execute(commandOf('sleep'));
    command.finish();

    await expect(late).rejects.toMatchObject({ code: 'fenced' });
    expect(await successor.executor.execute(commandOf('sleep'))).toEqual(unknown);
  });

  test('a manager that lost the binding begins nothing in it (E2)', async () => {
    registry.alive.delete('m1');
    await testManager('m2', registry, driver.ofAnotherManager(), impatient).pool.acquire(thread, 1);

    await expect(manager.executor.execute(commandOf('echo x'))).rejects.toMatchObject({ code: 'fenced' });
    expect(driver.ran).toEqual([]);
  });

  test('ends what runs in threads that another manager took over', async () => {
    const running = manager.executor.execute(commandOf('sleep'));
    await firstRunning();
    registry.alive.delete('m1');
    await testManager('m2', registry, driver.ofAnotherManager(), impatient).pool.acquire(thread, 1);

    manager.executor.endThreads(await manager.pool.dropForeign());

    expect(await running).toMatchObject({ outcome: 'unknown' });
    expect(driver.removed).toEqual([]);
  });

  test('a sandbox that went away is made again, and the command runs once', async () => {
    driver.gone = true;

    expect(await manager.executor.execute(commandOf('echo back'))).toMatchObject({ outcome: 'done', stdout: 'back' });
    expect(driver.ran).toEqual(['echo back']);
    expect(driver.created).toHaveLength(2);
  });

  test('a driver that fails in the middle leaves an unknown outcome, not a second run', async () => {
    const running = manager.executor.execute(commandOf('sleep'));
    (await firstRunning()).fail(new Error('socket closed'));

    expect(await running).toMatchObject({ outcome: 'unknown' });
    expect(await manager.executor.execute(commandOf('sleep'))).toMatchObject({ outcome: 'unknown' });
    expect(driver.ran).toEqual(['sleep']);
  });

  test('refuses a sandbox that this manager does not hold, and a command that no kernel takes', async () => {
    await expect(manager.executor.execute(commandOf('echo x', { threadId: 't2' }))).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(() => commandOf('x'.repeat(200_000))).toThrow(/bytes/);
  });

  test('draining ends what outlasts the grace as unknown; what only waited may run elsewhere', async () => {
    const running = manager.executor.execute(commandOf('sleep', { key: 'a' }));
    await firstRunning();
    const waiting = manager.executor.execute(commandOf('echo x', { key: 'b' })).catch((error: unknown) => error);

    await manager.executor.drain(0);

    expect(await running).toMatchObject({ outcome: 'unknown' });
    expect(await waiting).toMatchObject({ code: 'unavailable' });
    expect(registry.starts).toEqual(['a']);
  });
});

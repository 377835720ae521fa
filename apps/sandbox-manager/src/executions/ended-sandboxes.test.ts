import type { Clock } from '@caribou/core';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { commandOf, type TestManager, testManager, thread, until } from '../testing/test-manager.js';
import type { ManagedSandbox } from './managed-sandbox.js';

/** Sleeps end at once, a bounded wait for something that settles at once does not. */
const clock: Clock = { now: () => 1_000, monotonicMs: () => 0, sleep: () => new Promise((end) => setTimeout(end, 20)) };

describe('the end of a sandbox by an administrator', () => {
  let registry: InMemoryRegistry;
  let driver: FakeDriver;
  let manager: TestManager;

  beforeEach(async () => {
    registry = new InMemoryRegistry();
    registry.epochs.set('default/t1', 1);
    driver = new FakeDriver();
    manager = testManager('m1', registry, driver, clock);
    await manager.pool.acquire(thread, 1);
  });

  const sandbox = async (): Promise<ManagedSandbox> => {
    const found = await manager.pool.findBound(thread);
    if (found === undefined) throw new Error('the manager holds no sandbox of the thread');
    return found;
  };
  const run = (command: string, key: string) => manager.executor.execute(commandOf(command, { key }));
  const firstRunning = async () => {
    await until(() => driver.running.size > 0);
    const [command] = driver.running;
    if (command === undefined) throw new Error('nothing runs');
    return command;
  };

  test('ends the command that runs, whose outcome is unknown and is never another one', async () => {
    const running = run('sleep', 'a');
    await firstRunning();

    expect(await manager.executor.endSandbox(await sandbox())).toBe(1);

    const unknown = { outcome: 'unknown', reason: expect.stringContaining('an administrator ended the sandbox') };
    expect(await running).toEqual(unknown);
    expect(registry.entries.get('default/t1/a')?.result?.value).toEqual(unknown);
    await manager.pool.acquire(thread, 1);
    expect(await run('sleep', 'a')).toEqual(unknown);
    expect(driver.removed).toEqual(['sandbox-t1']);
    expect(driver.ran).toEqual(['sleep']);
  });

  test('leaves the result of a command that ended first', async () => {
    const running = run('sleep', 'a');
    const command = await firstRunning();
    command.finish();
    const ended = manager.executor.endSandbox(await sandbox());

    expect(await running).toMatchObject({ outcome: 'done', stdout: 'done sleep' });
    await ended;
    await manager.pool.acquire(thread, 1);
    expect(await run('sleep', 'a')).toMatchObject({ outcome: 'done', stdout: 'done sleep' });
    expect(driver.removed).toEqual(['sandbox-t1']);
  });

  test('a command whose result is not in the journal yet stays done', async () => {
    const running = run('sleep', 'a');
    const command = await firstRunning();
    const held = await sandbox();
    registry.away = true;
    command.finish();
    // The result cannot be entered yet, so the execution is still under way.
    await new Promise((resolve) => setImmediate(resolve));
    const ended = manager.executor.endSandbox(held);
    registry.away = false;

    expect(await ended).toBe(1);
    expect(await running).toMatchObject({ outcome: 'done', stdout: 'done sleep' });
  });

  test('commands that wait begin in a fresh sandbox, and the first result says so', async () => {
    const first = run('sleep', 'a');
    await firstRunning();
    const waiting = run('echo next', 'b');

    await manager.executor.endSandbox(await sandbox());

    expect(await first).toMatchObject({ outcome: 'unknown' });
    expect(await waiting).toMatchObject({
      outcome: 'done',
      stdout: 'next',
      stderr: expect.stringContaining('made anew'),
    });
    expect(driver.created).toHaveLength(2);
    expect(driver.mostAtOnce).toBe(1);
  });

  test('the next command of an idle thread gets a fresh sandbox', async () => {
    await run('echo one', 'a');
    expect(await manager.executor.endSandbox(await sandbox())).toBe(0);
    expect(manager.pool.size).toBe(0);
    expect(manager.pool.list()).toEqual([]);

    await manager.pool.acquire(thread, 1);
    expect(await run('echo two', 'b')).toMatchObject({ outcome: 'done', stdout: 'two' });
    expect(driver.created).toHaveLength(2);
  });

  test('two administrators at once end it once', async () => {
    const running = run('sleep', 'a');
    await firstRunning();
    const held = await sandbox();

    await Promise.all([manager.executor.endSandbox(held), manager.executor.endSandbox(held)]);

    expect(await running).toMatchObject({ outcome: 'unknown' });
    expect(driver.removed).toEqual(['sandbox-t1']);
  });

  test('a driver that fails is reported, and the next use ends what is left', async () => {
    driver.remove = () => Promise.reject(new Error('the engine does not answer'));

    await expect(manager.executor.endSandbox(await sandbox())).rejects.toMatchObject({ code: 'unavailable' });

    await manager.pool.acquire(thread, 1);
    expect(driver.created.at(-1)).toMatchObject({ fresh: true });
  });

  test('a manager without its lease, or that another has taken over from, ends nothing', async () => {
    const held = await sandbox();
    manager.lease.held = false;
    await expect(manager.executor.endSandbox(held)).rejects.toMatchObject({ code: 'unavailable' });
    manager.lease.held = true;

    registry.alive.delete('m1');
    await testManager('m2', registry, driver.ofAnotherManager(), clock).pool.acquire(thread, 1);
    expect(await manager.pool.findBound(thread)).toBeUndefined();
    expect(driver.removed).toEqual([]);
  });
});

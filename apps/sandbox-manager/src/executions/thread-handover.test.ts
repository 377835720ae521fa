import { silentLogger, systemClock } from '@caribou/core';
import { UnavailableError } from '@caribou/contracts';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { commandOf, type TestManager, testManager, thread, until } from '../testing/test-manager.js';
import type { Execution } from './execution.js';
import { ThreadHandover } from './thread-handover.js';

const GRACE_MS = 60_000;
const other = { userId: 'default', threadId: 't2' };
const GIVEN_BACK = { code: 'not_found', details: { resource: 'sandbox', given_back: true } };

/** A write of the test thread, which is done at once. */
const writeOf = (key: string): Execution<unknown> => ({
  ...commandOf('unused', { key }),
  kind: 'write',
  run: () => Promise.resolve({ outcome: 'ok', bytes: 1 }),
  parse: (stored) => stored,
});

describe('a draining manager', () => {
  let registry: InMemoryRegistry;
  let driver: FakeDriver;
  let leaving: TestManager;
  let next: TestManager;

  beforeEach(async () => {
    registry = new InMemoryRegistry();
    for (const id of ['t1', 't2']) registry.epochs.set(`default/${id}`, 1);
    driver = new FakeDriver();
    leaving = testManager('m1', registry, driver);
    next = testManager('m2', registry, driver.ofAnotherManager());
    await leaving.pool.acquire(thread, 1);
    await leaving.pool.acquire(other, 1);
  });

  /** A command that runs on the leaving manager until it is finished. */
  async function startCommand(key = 'a') {
    const reply = leaving.executor.execute(commandOf('sleep', { key }));
    await until(() => driver.running.size > 0);
    return { reply, finish: () => [...driver.running][0]?.finish() };
  }

  test('gives idle threads back at once, while a command of another thread runs', async () => {
    const { reply, finish } = await startCommand();

    const drained = leaving.executor.drain(GRACE_MS);
    await until(() => registry.bindings.get('default/t2')?.managerId === '');

    expect(driver.removed).toEqual(['sandbox-t2']);
    expect(await next.pool.acquire(other, 1)).toMatchObject({ managerId: 'm2' });
    expect(await next.executor.execute(commandOf('echo next', { threadId: 't2' }))).toMatchObject({ stdout: 'next' });
    expect(await next.pool.acquire(thread, 1)).toMatchObject({ managerId: 'm1' });
    finish();
    expect(await reply).toMatchObject({ outcome: 'done', stdout: 'done sleep' });
    await drained;
    expect(await next.pool.acquire(thread, 1)).toMatchObject({ managerId: 'm2' });
  });

  test('answers for a command that runs, also callers that ask again, and gives the thread back after it', async () => {
    const { reply, finish } = await startCommand();
    const drained = leaving.executor.drain(GRACE_MS);
    const again = leaving.executor.execute(commandOf('sleep', { key: 'a' }));

    finish();

    expect(await again).toEqual(await reply);
    await drained;
    await next.pool.acquire(thread, 1);
    expect(await next.executor.execute(commandOf('sleep', { key: 'a' }))).toEqual(await reply);
    expect(driver.ran).toEqual(['sleep']);
  });

  test('holds the next command of a thread until its running one has ended, and sends it to the next manager', async () => {
    const { finish } = await startCommand();
    const drained = leaving.executor.drain(GRACE_MS);
    const refused = leaving.executor.execute(commandOf('echo b', { key: 'b' })).catch((error: unknown) => error);
    let isAnswered = false;
    void refused.then(() => (isAnswered = true));
    await systemClock.sleep(10);
    expect(isAnswered).toBe(false);

    finish();

    expect(await refused).toMatchObject(GIVEN_BACK);
    await drained;
    expect(registry.starts).toEqual(['a']);
    expect(registry.bindings.get('default/t1')?.managerId).toBe('');
  });

  test('a command that waited behind another one is refused when its turn comes, and may run elsewhere', async () => {
    const { finish } = await startCommand();
    const waiting = leaving.executor.execute(commandOf('echo b', { key: 'b' })).catch((error: unknown) => error);
    const drained = leaving.executor.drain(GRACE_MS);

    finish();

    expect(await waiting).toMatchObject({ code: 'unavailable', details: { dependency: 'sandbox-manager' } });
    await drained;
    await next.pool.acquire(thread, 1);
    expect(await next.executor.execute(commandOf('echo b', { key: 'b' }))).toMatchObject({ stdout: 'b' });
  });

  test('still writes and reads for a thread whose command runs, as these are parts of the same step', async () => {
    const { finish } = await startCommand();
    const drained = leaving.executor.drain(GRACE_MS);

    expect(await leaving.executor.execute(writeOf('w'))).toEqual({ outcome: 'ok', bytes: 1 });
    await leaving.executor.requireServed(thread);
    await expect(leaving.executor.requireServed(other)).rejects.toMatchObject(GIVEN_BACK);
    await expect(leaving.executor.execute(writeOf('w'))).resolves.toEqual({ outcome: 'ok', bytes: 1 });

    finish();
    await drained;
    await expect(leaving.executor.requireServed(thread)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('gives a thread back for which it has no sandbox any more, when somebody asks for it', async () => {
    const { finish } = await startCommand();
    registry.epochs.set('default/t3', 1);
    registry.bindings.set('default/t3', { managerId: 'm1', sandboxId: 'sandbox-t3', driver: 'docker' });
    const drained = leaving.executor.drain(GRACE_MS);

    await expect(leaving.executor.execute(commandOf('echo c', { threadId: 't3' }))).rejects.toMatchObject(GIVEN_BACK);

    expect(await next.pool.acquire({ userId: 'default', threadId: 't3' }, 1)).toMatchObject({ managerId: 'm2' });
    finish();
    await drained;
  });

  test('at the end of its time ends what runs as unknown, and gives that thread back too', async () => {
    const { reply } = await startCommand();

    await leaving.executor.drain(1);

    expect(await reply).toMatchObject({ outcome: 'unknown' });
    expect(registry.bindings.get('default/t1')?.managerId).toBe('');
  });
});

describe('ThreadHandover', () => {
  const clock = { ...systemClock, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };

  test('tries again while the files are not stored or the registry does not answer', async () => {
    const steps: string[] = [];
    const away = new UnavailableError('away', { details: { dependency: 'redis' } });
    const failOnce = (step: string): Promise<void> => {
      const isFirst = !steps.includes(step);
      steps.push(step);
      return isFirst ? Promise.reject(away) : Promise.resolve();
    };
    const handover = new ThreadHandover({
      managerId: 'm1',
      pool: { giveUp: () => failOnce('files') },
      registry: { giveBack: () => failOnce('registry').then(() => true) },
      isBusy: () => false,
      clock,
      logger: silentLogger,
    });

    await handover.giveAllBack([thread]);

    expect(steps).toEqual(['files', 'files', 'registry', 'files', 'registry']);
  });

  test('a thread that never becomes idle is left to the end of the lease when the manager stops', async () => {
    const given: string[] = [];
    const handover = new ThreadHandover({
      managerId: 'm1',
      pool: { giveUp: async () => void given.push('t1') },
      registry: { giveBack: () => Promise.resolve(true) },
      isBusy: () => true,
      clock: systemClock,
      logger: silentLogger,
    });
    const all = handover.giveAllBack([thread]);
    const refused = handover.refuse(thread).catch((error: unknown) => error);

    handover.stop();

    await all;
    expect(await refused).toMatchObject({ code: 'unavailable' });
    expect(given).toEqual([]);
  });
});

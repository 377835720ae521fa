import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@caribou/core';
import { chooseAmong, identifyFile, type ManagerRecord, ManagerRecords } from '@caribou/sandbox';
import { temporaryFolder } from '@caribou/testing';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { DeadManagers } from './dead-managers.js';
import { ManagerSocket } from './manager-socket.js';

const home = temporaryFolder();
const LISTENER = "require('net').createServer().listen(process.argv[1], () => console.log('up'))";

describe('DeadManagers', () => {
  let registry: InMemoryRegistry;
  let driver: FakeDriver;
  let records: ManagerRecords;
  let managers: DeadManagers;
  let other: ChildProcess;

  beforeEach(async () => {
    registry = new InMemoryRegistry();
    driver = new FakeDriver();
    records = new ManagerRecords(home);
    const drivers = chooseAmong([driver], 'auto', systemClock);
    const shared = { managerId: 'own', records, registry, drivers, clock: systemClock, logger: silentLogger };
    managers = new DeadManagers({ ...shared, everyMs: 1 });
    await records.open();
    other = await startOther();
  });

  afterEach(async () => {
    other.kill('SIGKILL');
    await records.remove('other');
    await records.close();
  });

  /** A process that listens as a manager does, with a lease, a record and a sandbox. */
  async function startOther(): Promise<ChildProcess> {
    const path = join(home, 'managers/other.sock');
    const child = spawn(process.execPath, ['-e', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    await registry.renewManager('other');
    driver.listed.add({
      ...{ managerId: 'other', userId: 'default', threadId: 't1', sandboxId: 'sandbox-t1' },
      ...{ running: true, instance: 'other/t1' },
    });
    await writeRecord({});
    return child;
  }

  async function writeRecord(change: Partial<ManagerRecord>): Promise<void> {
    await records.write({
      managerId: 'other',
      bootId: records.bootId ?? '',
      socket: (await identifyFile(join(home, 'managers/other.sock'))) ?? '',
      domains: [{ driver: 'docker', domain: 'one machine' }],
      ...change,
    });
  }

  async function kill(): Promise<void> {
    const exited = once(other, 'exit');
    other.kill('SIGKILL');
    await exited;
  }

  test('a manager that was killed: its sandboxes end before its lease is released (C2)', async () => {
    const remove = driver.removeInstance.bind(driver);
    jest.spyOn(driver, 'removeInstance').mockImplementation(async (listed) => {
      expect(registry.alive.has('other')).toBe(true);
      await remove(listed);
    });
    await kill();

    await managers.check();

    expect(driver.removedInstances).toEqual(['other/t1']);
    expect(registry.alive.has('other')).toBe(false);
  });

  test('a manager that is paused keeps its sandboxes, its lease and its record (C1)', async () => {
    other.kill('SIGSTOP');

    for (let checks = 0; checks < 3; checks += 1) await managers.check();

    expect([driver.removedInstances, registry.alive.has('other')]).toEqual([[], true]);
    expect(await records.list()).toEqual(['other']);
  });

  test.each([
    ['of another boot of the kernel', { bootId: 'another' }],
    ['whose socket is another file', { socket: '1:2' }],
    ['whose driver has an unknown domain', { domains: [{ driver: 'docker' as const, domain: null }] }],
    ['whose driver has another domain', { domains: [{ driver: 'docker' as const, domain: 'another engine' }] }],
    ['whose driver cannot be used here', { domains: [{ driver: 'bwrap' as const, domain: 'one machine' }] }],
  ])('a refused connection proves nothing about a manager %s', async (_, change) => {
    await writeRecord(change);
    await kill();

    await managers.check();

    expect([driver.removedInstances, registry.alive.has('other')]).toEqual([[], true]);
  });

  test('the lease stays while a sandbox cannot be ended, and the record goes once the lease has lapsed', async () => {
    driver.inDomain = undefined;
    await kill();
    await managers.check();
    expect([registry.alive.has('other'), await records.list()]).toEqual([true, ['other']]);

    registry.alive.delete('other');
    await managers.check();

    expect(await records.list()).toEqual([]);
  });

  test('releases again what a late renewal has prolonged, and then removes the record (C3)', async () => {
    await kill();
    await managers.check();
    await registry.renewManager('other');

    await managers.check();
    expect([registry.alive.has('other'), await records.list()]).toEqual([false, ['other']]);
    await managers.check();

    expect(await records.list()).toEqual([]);
  });

  test('does nothing while the registry is unavailable, and continues afterwards', async () => {
    await kill();
    registry.away = true;
    await expect(managers.check()).rejects.toMatchObject({ code: 'unavailable' });
    registry.away = false;

    await managers.check();

    expect(registry.alive.has('other')).toBe(false);
  });

  test('removes an old record of another machine without a lease, once, and leaves one that has a lease', async () => {
    await writeRecord({ bootId: 'another' });
    utimesSync(join(home, 'managers/other.json'), 0, 0);
    await managers.check();
    expect(await records.list()).toEqual(['other']);

    registry.alive.delete('other');
    const after = { managerId: 'own', records, registry, clock: systemClock, logger: silentLogger, everyMs: 1 };
    await new DeadManagers({ ...after, drivers: chooseAmong([driver], 'auto', systemClock) }).check();

    expect(await records.list()).toEqual([]);
  });
});

describe('ManagerSocket', () => {
  const open = async (managerId: string): Promise<{ records: ManagerRecords; socket: ManagerSocket }> => {
    const records = new ManagerRecords(home);
    const socket = new ManagerSocket({ managerId, records, logger: silentLogger });
    await socket.open();
    return { records, socket };
  };

  test('the record names each driver before its first sandbox, once, and is gone after an orderly stop', async () => {
    const { records, socket } = await open('m1');
    expect(await records.read('m1')).toMatchObject({ managerId: 'm1', domains: [] });
    const [docker, bwrap] = [new FakeDriver('docker'), new FakeDriver('bwrap')];
    bwrap.inDomain = undefined;

    await Promise.all([docker, docker, bwrap].map((driver) => socket.addDriver(driver)));

    expect(await records.read('m1')).toMatchObject({
      domains: [
        { driver: 'docker', domain: 'one machine' },
        { driver: 'bwrap', domain: null },
      ],
    });
    await socket.close();
    expect(await records.list()).toEqual([]);
  });

  test('a driver whose engine does not answer is asked again', async () => {
    const { records, socket } = await open('m2');
    const driver = new FakeDriver();
    jest.spyOn(driver, 'domain').mockRejectedValueOnce(new Error('away'));

    await expect(socket.addDriver(driver)).rejects.toThrow('away');
    await socket.addDriver(driver);

    expect((await records.read('m2'))?.domains).toHaveLength(1);
    await socket.close();
  });

  test('a manager without a folder for its socket works without one', async () => {
    const file = join(home, 'file');
    writeFileSync(file, '');
    const socket = new ManagerSocket({ managerId: 'm3', records: new ManagerRecords(file), logger: silentLogger });

    await socket.open();
    await socket.addDriver(new FakeDriver());

    await socket.close();
  });
});

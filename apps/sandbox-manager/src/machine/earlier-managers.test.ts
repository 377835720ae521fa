import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@caribou/core';
import { chooseAmong, identifyFile, ManagerRecords } from '@caribou/sandbox';
import { temporaryFolder, waitFor } from '@caribou/testing';
import { FakeDriver } from '../testing/fake-driver.js';
import { InMemoryRegistry } from '../testing/in-memory-registry.js';
import { EarlierManagers } from './earlier-managers.js';

const folder = temporaryFolder();
const LISTENER = "require('net').createServer().listen(process.argv[1], () => console.log('up'))";

function earlierManagersOf(home: string) {
  const [registry, driver] = [new InMemoryRegistry(), new FakeDriver()];
  const drivers = chooseAmong([driver], 'auto', systemClock);
  const shared = { managerId: 'own', registry, drivers, clock: systemClock, logger: silentLogger, everyMs: 10 };
  return { registry, driver, managers: new EarlierManagers(home, shared) };
}

describe('EarlierManagers', () => {
  test('ends the sandboxes of a killed manager whose record lies in the home, and releases its lease', async () => {
    const home = join(folder, 'home');
    const { registry, driver, managers } = earlierManagersOf(home);
    const records = new ManagerRecords(home);
    const { bootId } = await records.open();
    const path = join(home, 'managers/old.sock');
    const old = spawn(process.execPath, ['-e', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(old.stdout, 'data');
    const socket = (await identifyFile(path)) ?? '';
    await records.write({ managerId: 'old', bootId, socket, domains: [{ driver: 'docker', domain: 'one machine' }] });
    await registry.renewManager('old');
    const sandbox = { sandboxId: 's1', managerId: 'old', userId: 'default', threadId: 't1' };
    driver.listed.add({ ...sandbox, running: true, instance: 'old/t1' });
    await managers.start();
    expect(registry.alive).toContain('old');

    old.kill('SIGKILL');

    await waitFor(async () => (await records.list()).length === 0, { what: 'the end of the record' });
    expect([driver.removedInstances, [...registry.alive]]).toEqual([['old/t1'], []]);
    await managers.stop();
    await records.close();
  });

  test('makes no folder in a home that never had one', async () => {
    const home = join(folder, 'fresh');
    const { managers } = earlierManagersOf(home);

    await managers.start();
    await managers.stop();

    expect(existsSync(home)).toBe(false);
  });
});

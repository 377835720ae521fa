import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '@caribou/testing';
import { identifyFile, isRefused, ManagerRecords } from './manager-records.js';

const folder = temporaryFolder();
const QUEUE = 2;
const LISTENER = `require('net').createServer().listen(
  { path: process.argv[1], backlog: ${QUEUE} }, () => console.log('up'))`;

describe('isRefused', () => {
  test('is false for a process that is paused, however full its queue is, and true once it has ended', async () => {
    const path = join(folder, 'listener.sock');
    const listener = spawn(process.execPath, ['-e', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(listener.stdout, 'data');
    expect(await isRefused(path)).toBe(false);

    listener.kill('SIGSTOP');
    for (let connections = 0; connections <= 2 * QUEUE; connections += 1) expect(await isRefused(path)).toBe(false);

    const exited = once(listener, 'exit');
    listener.kill('SIGKILL');
    await exited;
    expect(await isRefused(path)).toBe(true);
  });

  test('is false where there is no socket', async () => {
    expect(await isRefused(join(folder, 'missing.sock'))).toBe(false);
  });
});

describe('ManagerRecords', () => {
  const record = { managerId: 'm-1', bootId: 'boot', socket: '1:2', domains: [] };

  test('reads back what was written, lists it, and removes it with the socket', async () => {
    const records = new ManagerRecords(join(folder, 'home'));
    await records.open();
    const server = createServer().listen(records.socketPath('m-1'));
    await once(server, 'listening');
    const extended = { ...record, domains: [{ driver: 'bwrap' as const, domain: null }] };
    await records.write(record);
    await records.write(extended);

    expect(await records.read('m-1')).toEqual(extended);
    expect(await records.list()).toEqual(['m-1']);
    expect(await identifyFile(join(folder, 'home/managers/m-1.sock'))).toMatch(/^\d+:\d+$/);

    await records.remove('m-1');
    expect([await records.read('m-1'), await records.list()]).toEqual([null, []]);
    expect(await identifyFile(join(folder, 'home/managers/m-1.sock'))).toBeNull();
    server.close();
    await records.close();
    expect(records.socketPath('m-1')).toBeUndefined();
  });

  test('takes neither a part of a record nor the record of another manager', async () => {
    const managers = join(folder, 'damaged/managers');
    mkdirSync(managers, { recursive: true });
    writeFileSync(join(managers, 'm-2.json'), '{"managerId":"m-2"');
    writeFileSync(join(managers, 'm-3.json'), JSON.stringify(record));
    const records = new ManagerRecords(join(folder, 'damaged'));

    expect([await records.read('m-2'), await records.read('m-3')]).toEqual([null, null]);
  });

  test('opens sockets below a home whose path is longer than an address may be', async () => {
    const home = join(folder, 'x'.repeat(120));
    const records = new ManagerRecords(home);
    await records.open();
    const server = createServer().listen(records.socketPath('m-1'));
    await once(server, 'listening');

    expect(await isRefused(records.socketPath('m-1') ?? '')).toBe(false);

    server.close();
    await records.close();
  });
});

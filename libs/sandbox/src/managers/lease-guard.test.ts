import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { uptime } from 'node:os';
import { silentLogger } from '@caribou/core';
import { processesWith, temporaryFolder, waitFor } from '@caribou/testing';
import { identifyProcess } from '../bwrap/bwrap-host.js';
import { BwrapRecords } from '../bwrap/bwrap-records.js';
import { LeaseGuard } from './lease-guard.js';

const runDir = temporaryFolder();
const records = new BwrapRecords({ runDir, homeDir: join(runDir, 'home') });
const nowMs = (): number => uptime() * 1000;

describe('LeaseGuard', () => {
  const guards: LeaseGuard[] = [];
  const children: ChildProcess[] = [];

  afterEach(() => {
    for (const guard of guards.splice(0)) guard.close();
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  function startGuard(managerId: string): LeaseGuard {
    const guard = new LeaseGuard({ runDir, managerId, logger: silentLogger });
    guard.start();
    guards.push(guard);
    return guard;
  }

  /** A group of two processes as bwrap leads one, recorded as a command of the manager. */
  function startCommand(managerId: string, { startTicks }: { readonly startTicks?: string } = {}): ChildProcess {
    const child = spawn('sh', ['-c', 'sleep 600 & wait'], { detached: true, stdio: 'ignore' });
    children.push(child);
    const leader = identifyProcess(child.pid ?? 0);
    if (leader === null) throw new Error('no process');
    const spec = { sandboxId: `caribou-${child.pid}`, managerId, userId: 'default', threadId: 't1' };
    records.write(spec, { ...leader, ...(startTicks === undefined ? {} : { startTicks }) });
    return child;
  }

  const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

  test('ends the manager’s recorded commands when its lease is over, and none of others', async () => {
    const guard = startGuard('m1');
    const [own, another, reused] = [startCommand('m1'), startCommand('m2'), startCommand('m1', { startTicks: '1' })];
    const ended = once(own, 'exit');

    guard.extend(nowMs() + 300);

    expect(await ended).toEqual([null, 'SIGKILL']);
    expect([isRunning(another), isRunning(reused)]).toEqual([true, true]);
  });

  test('waits as long as the lease is prolonged, and serves the next lease after one that was over', async () => {
    const guard = startGuard('m3');
    const [first, second] = [startCommand('m3'), startCommand('m3')];
    guard.extend(nowMs() + 60_000);
    guard.extend(nowMs() - 1);
    await waitFor(() => !isRunning(first) && !isRunning(second), { what: 'the end of both' });

    const third = startCommand('m3');
    const ended = once(third, 'exit');
    guard.extend(nowMs() + 200);

    expect(await ended).toEqual([null, 'SIGKILL']);
  });

  test('ends what runs, and itself, when its manager has ended', async () => {
    const guard = startGuard('m4');
    guard.extend(nowMs() + 60_000);
    await waitFor(() => processesWith('m4').length > 0, { what: 'the guard' });
    const command = startCommand('m4');
    const ended = once(command, 'exit');

    guard.close();

    expect(await ended).toEqual([null, 'SIGKILL']);
    await waitFor(() => processesWith('m4').length === 0, { what: 'the end of the guard' });
  });

  test('is started again when it is killed, with the lease that it had', async () => {
    const guard = startGuard('m5');
    guard.extend(nowMs() + 2_500);
    const command = startCommand('m5');
    const ended = once(command, 'exit');
    const [first] = await waitFor(() => Promise.resolve(guardsOf('m5')), { what: 'the guard' });

    process.kill(first ?? 0, 'SIGKILL');

    expect(await ended).toEqual([null, 'SIGKILL']);
  });
});

function guardsOf(managerId: string): readonly number[] | undefined {
  const found = processesWith(managerId)
    .map(Number)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('caribou-lease-guard'));
  return found.length === 0 ? undefined : found;
}

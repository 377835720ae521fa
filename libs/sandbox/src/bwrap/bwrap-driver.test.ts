import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  describeFileAbuse,
  describeSandboxAbuse,
  describeSandboxDriver,
  describeWorkspaceQuota,
  testSandboxSettings,
} from '@caribou/testing';
import { BwrapDriver } from './bwrap-driver.js';
import { fileAccess, SUITE_LIMITS } from '../testing/driver-suites.js';

async function openDriver(homeDir: string): Promise<BwrapDriver> {
  const driver = new BwrapDriver(testSandboxSettings(homeDir, { driver: 'bwrap', limits: SUITE_LIMITS }));
  const probe = await driver.probe();
  if (!probe.ok) throw new Error(probe.reason);
  return driver;
}

describeSandboxDriver('BwrapDriver below a closed directory', { ...fileAccess, make: openDriver });

describeSandboxDriver('BwrapDriver below a searchable directory', {
  ...fileAccess,
  make: (homeDir) => {
    chmodSync(homeDir, 0o755);
    return openDriver(homeDir);
  },
});

describe('BwrapDriver', () => {
  test('bounds how many files a command makes in /tmp and /dev/shm', async () => {
    const home = mkdtempSync(join(tmpdir(), 'caribou-bwrap-'));
    const driver = await openDriver(home);
    const sandbox = { sandboxId: 'caribou-inodes', managerId: 'm1', userId: 'default', threadId: 't1' };
    await driver.create(sandbox, { fresh: true });
    const command = {
      command: 'stat -f -c %c /tmp /dev/shm; cd /dev/shm; seq 5000 | xargs touch 2>/dev/null; ls | wc -l',
      timeoutMs: 30_000,
      maxOutputBytes: 1024,
    };

    const { stdout } = await driver.exec(sandbox, command, new AbortController().signal);

    expect(stdout.trim().split('\n').map(Number)).toEqual([65_536, 4096, expect.any(Number)]);
    expect(Number(stdout.trim().split('\n')[2])).toBeLessThan(4096);
    await driver.remove(sandbox);
    rmSync(home, { recursive: true });
  });
});

describe('BwrapDriver with a record that cannot be written', () => {
  test('runs no command: a manager that takes the thread over could not end it', async () => {
    const home = mkdtempSync(join(tmpdir(), 'caribou-bwrap-'));
    const driver = await openDriver(home);
    const sandbox = { sandboxId: 'caribou-unrecorded', managerId: 'm1', userId: 'default', threadId: 't1' };
    await driver.create(sandbox, { fresh: true });
    rmSync(join(home, 'run/sandboxes'), { recursive: true, force: true });
    writeFileSync(join(home, 'run/sandboxes'), '');
    const command = { command: 'touch ran', timeoutMs: 10_000, maxOutputBytes: 1024 };

    const execution = driver.exec(sandbox, command, new AbortController().signal);

    await expect(execution).rejects.toMatchObject({ code: 'EEXIST' });
    expect(existsSync(join(home, 'users/default/threads/t1/user-data/workspace/ran'))).toBe(false);
    rmSync(home, { recursive: true });
  });
});

describeSandboxAbuse('BwrapDriver', { ...fileAccess, make: openDriver });
describeFileAbuse('BwrapDriver', { ...fileAccess, make: openDriver });
describeWorkspaceQuota('BwrapDriver', { ...fileAccess, make: openDriver });

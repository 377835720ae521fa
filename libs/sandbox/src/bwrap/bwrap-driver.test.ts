import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  describeFileAbuse,
  describeSandboxAbuse,
  describeSandboxDriver,
  describeWorkspaceQuota,
  testSandboxSettings,
} from '@caribou/testing';
import { commandIdentity } from '@caribou/core';
import { threadFiles } from '@caribou/files';
import { BwrapDriver } from './bwrap-driver.js';

const MiB = 1024 * 1024;
const limits = {
  memoryBytes: 256 * MiB,
  pids: 64,
  tmpBytes: 8 * MiB,
  fileBytes: 16 * MiB,
  outputCeilingBytes: 2 * MiB,
};

async function ready(homeDir: string): Promise<BwrapDriver> {
  const driver = new BwrapDriver(testSandboxSettings(homeDir, { driver: 'bwrap', limits }));
  const probe = await driver.probe();
  if (!probe.ok) throw new Error(probe.reason);
  return driver;
}

const underTest = { uid: commandIdentity().uid, files: (homeDir: string) => threadFiles(homeDir, commandIdentity()) };

describeSandboxDriver('BwrapDriver below a closed directory', { ...underTest, make: ready });

describeSandboxDriver('BwrapDriver below a searchable directory', {
  ...underTest,
  make: (homeDir) => {
    chmodSync(homeDir, 0o755);
    return ready(homeDir);
  },
});

describe('BwrapDriver', () => {
  test('bounds how many files a command makes in /tmp and /dev/shm', async () => {
    const home = mkdtempSync(join(tmpdir(), 'caribou-bwrap-'));
    const driver = await ready(home);
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

describeSandboxAbuse('BwrapDriver', { ...underTest, make: ready });
describeFileAbuse('BwrapDriver', { ...underTest, make: ready });
describeWorkspaceQuota('BwrapDriver', { ...underTest, make: ready });

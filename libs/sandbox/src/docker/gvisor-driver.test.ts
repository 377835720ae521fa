import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  describeFileAbuse,
  describeSandboxAbuse,
  describeSandboxDriver,
  describeWorkspaceQuota,
  importImage,
  missingForGvisor,
  testSandboxSettings,
  ON_GVISOR,
  processesInContainers,
  processesWith,
} from '@caribou/testing';
import { commandIdentity } from '@caribou/core';
import { threadFiles } from '@caribou/files';
import { DockerDriver } from './docker-driver.js';
import type { Probe } from '../drivers/driver.js';

const MiB = 1024 * 1024;
const IMAGE = 'caribou-gvisor-test';
const limits = {
  memoryBytes: 256 * MiB,
  pids: 64,
  tmpBytes: 8 * MiB,
  fileBytes: 16 * MiB,
  outputCeilingBytes: 2 * MiB,
};

let probed: Promise<Probe> | undefined;

async function ready(homeDir: string): Promise<DockerDriver> {
  const settings = testSandboxSettings(homeDir, {
    driver: 'docker',
    image: `${IMAGE}:latest`,
    runtime: 'runsc',
    limits,
  });
  const driver = new DockerDriver(settings);
  // It tries engine, image and home, which are of one kind in all suites: once is enough.
  probed ??= driver.probe();
  const probe = await probed;
  if (!probe.ok) throw new Error(probe.reason);
  return driver;
}

const reason = missingForGvisor();
if (reason === null) {
  jest.setTimeout(60_000);
  beforeAll(() => importImage(IMAGE), 60_000);

  const underTest = {
    make: ready,
    files: (homeDir: string) => threadFiles(homeDir, commandIdentity()),
    uid: commandIdentity().uid,
    traits: ON_GVISOR,
    processesWith: processesInContainers,
  };
  describeSandboxDriver('DockerDriver with gVisor', underTest);
  describeSandboxAbuse('DockerDriver with gVisor', underTest);
  describeFileAbuse('DockerDriver with gVisor', underTest);
  describeWorkspaceQuota('DockerDriver with gVisor', underTest);

  describe('DockerDriver with gVisor', () => {
    let home: string;
    let driver: DockerDriver;
    const sandbox = { sandboxId: `caribou-gvisor-${process.pid}`, managerId: 'm1', userId: 'default', threadId: 't1' };
    const run = (command: string) =>
      driver.exec(sandbox, { command, timeoutMs: 20_000, maxOutputBytes: 8192 }, new AbortController().signal);

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'caribou-gvisor-'));
      driver = await ready(home);
      await driver.create(sandbox, { fresh: true });
    });
    afterAll(async () => {
      await driver.remove(sandbox);
      rmSync(home, { recursive: true, force: true });
    });

    test('keeps PID 1 under another user, out of reach of commands', async () => {
      const { stdout } = await run('grep Uid /proc/1/status; kill -9 1; echo still here');

      expect(stdout).toMatch(/^Uid:\s+10002\s[^]*still here\n$/);
    });

    test('commands run on gVisor’s kernel, which is behind a system call filter itself and gone with its sandbox', async () => {
      const [listed] = await driver.list();
      const ofSandbox = () =>
        processesWith(listed?.instance ?? '').map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8'));

      const kernel = ofSandbox().filter((status) => !status.includes('containerd-shim'));
      expect(kernel.length).toBeGreaterThan(0);
      for (const status of kernel) expect(status).toMatch(/^NoNewPrivs:\s1\nSeccomp:\s2$/m);
      expect((await run('setpriv -d')).stdout).toContain('no_new_privs: 1');
      await driver.remove(sandbox);
      expect(ofSandbox()).toEqual([]);
      await driver.create(sandbox, { fresh: true });
    });

    test('a command that takes the sandbox with it is told of as killed, and the next one runs', async () => {
      await run('echo kept > kept; echo lost > /tmp/lost');

      expect(await run('dd if=/dev/zero of=/dev/null bs=512M count=1')).toMatchObject({
        exitCode: 137,
        endedBy: 'exit',
        stderr: expect.stringMatching(/\[the sandbox was started again: what was in \/tmp is gone\]\n$/),
      });
      expect(await run('cat kept; ls /tmp')).toMatchObject({ stdout: 'kept\n', stderr: '', exitCode: 0 });
    });
  });
} else {
  test.skip(`DockerDriver with gVisor: ${reason}`, () => undefined);
  process.stderr.write(`skipped: DockerDriver with gVisor (${reason})\n`);
}

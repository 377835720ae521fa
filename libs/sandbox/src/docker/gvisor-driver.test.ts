import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importImage, missingForGvisor, ON_GVISOR, processesInContainers, processesWith } from '@caribou/testing';
import type { DockerDriver } from './docker-driver.js';
import { describeDockerSuites, dockerDrivers } from '../testing/driver-suites.js';

const IMAGE = 'caribou-gvisor-test';
const openDriver = dockerDrivers({ image: `${IMAGE}:latest`, runtime: 'runsc' });

const reason = missingForGvisor();
if (reason === null) {
  jest.setTimeout(60_000);
  beforeAll(() => importImage(IMAGE), 60_000);

  describeDockerSuites('DockerDriver with gVisor', openDriver, {
    traits: ON_GVISOR,
    processesWith: processesInContainers,
  });

  describe('DockerDriver with gVisor', () => {
    let home: string;
    let driver: DockerDriver;
    const sandbox = { sandboxId: `caribou-gvisor-${process.pid}`, managerId: 'm1', userId: 'default', threadId: 't1' };
    const run = (command: string) =>
      driver.exec(sandbox, { command, timeoutMs: 20_000, maxOutputBytes: 8192 }, new AbortController().signal);

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'caribou-gvisor-'));
      driver = await openDriver(home);
      await driver.create(sandbox, { fresh: true });
    });
    afterAll(async () => {
      await driver.remove(sandbox);
      rmSync(home, { recursive: true, force: true });
    });

    test('runs PID 1 under another user, out of reach of commands', async () => {
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

    test('gVisor’s kernel grows with the processes that it has run, and takes nothing of a command’s memory', async () => {
      await run('n=0; while [ $n -lt 1500 ]; do /bin/cat /dev/null; n=$((n+1)); done');

      expect(await run('dd if=/dev/zero of=/dev/null bs=200M count=1')).toMatchObject({ exitCode: 0 });
    });

    test('a command that ends the sandbox is reported as killed, and the next one runs', async () => {
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

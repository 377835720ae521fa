import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importImage, missingForDocker, testSandboxSettings, waitFor } from '@caribou/testing';
import Docker from 'dockerode';
import { commandIdentity } from '@caribou/core';
import { threadFiles } from '@caribou/files';
import { DockerDriver } from './docker-driver.js';

const IMAGE = 'caribou-sandbox-test';

const reason = missingForDocker();
if (reason === null) {
  jest.setTimeout(120_000);
  beforeAll(() => importImage(IMAGE), 60_000);

  describe('the end of commands in containers', () => {
    const sandbox = { sandboxId: `caribou-kill-${process.pid}`, managerId: 'm1', userId: 'default', threadId: 't1' };
    const container = new Docker().getContainer(sandbox.sandboxId);
    let home: string;
    let driver: DockerDriver;
    const run = (command: string, signal = new AbortController().signal) =>
      driver.exec(sandbox, { command, timeoutMs: 20_000, maxOutputBytes: 8192 }, signal);
    const hostFile = (name: string): string =>
      join(threadFiles(home, commandIdentity()).hostPath(sandbox, 'workspace'), name);

    beforeEach(async () => {
      home = mkdtempSync(join(tmpdir(), 'caribou-kill-'));
      const image = `${IMAGE}:latest`;
      driver = new DockerDriver(testSandboxSettings(home, { driver: 'docker', image }));
      await driver.create(sandbox, { fresh: true });
    });
    afterEach(async () => {
      await driver.remove(sandbox);
      rmSync(home, { recursive: true, force: true });
    });

    test('a signal that aborted earlier: nothing begins', async () => {
      expect(await run('touch began', AbortSignal.abort())).toEqual({
        exitCode: 137,
        stdout: '',
        stderr: '',
        truncatedBytes: 0,
        endedBy: 'cancel',
        durationMs: 0,
      });
      expect(existsSync(hostFile('began'))).toBe(false);
    });

    test('cancels in the first moments of commands, one after another, leave the container and its /tmp', async () => {
      await run('echo here > /tmp/file');
      for (let delayMs = 0; delayMs < 160; delayMs += 4) {
        const command = 'setsid sleep 3333 & sleep 3333';
        expect(await run(command, AbortSignal.timeout(delayMs))).toMatchObject({ endedBy: 'cancel', stderr: '' });
      }

      expect(await run('cat /tmp/file; ps | grep "sleep [3]333"')).toMatchObject({
        stdout: 'here\n',
        stderr: '',
        exitCode: 1,
      });
    });

    test('a container that is removed while it has to be replaced stays removed', async () => {
      for (const delayMs of [0, 1900, 2000, 2100, 2300]) {
        await driver.create(sandbox, { fresh: false });
        const cancel = new AbortController();
        const running = run('echo > began; sleep 600', cancel.signal);
        await waitFor(() => existsSync(hostFile('began')), { what: 'the command' });
        rmSync(hostFile('began'));
        await container.pause();
        cancel.abort();
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        await driver.remove(sandbox);
        expect(await running).toMatchObject({ endedBy: 'cancel', exitCode: 137 });

        expect(await driver.list()).toEqual([]);
      }
    });

    test('a command that finds its container just ended did not start; 126 of a command is its own', async () => {
      const outcomes = new Set<string>();
      for (let attempt = 0; attempt < 40 && !outcomes.has('SandboxGoneError'); attempt += 1) {
        await driver.create(sandbox, { fresh: false });
        const killed = container.kill();
        const outcome = run('touch began').then(
          ({ exitCode }) => String(exitCode),
          (error: unknown) => (error as Error).name,
        );
        outcomes.add(await outcome);
        await killed;
        if ((await outcome) === 'SandboxGoneError') expect(existsSync(hostFile('began'))).toBe(false);
        rmSync(hostFile('began'), { force: true });
        await driver.remove(sandbox);
      }
      await driver.create(sandbox, { fresh: false });

      expect([...outcomes].filter((outcome) => !['SandboxGoneError', '0', '137'].includes(outcome))).toEqual([]);
      expect(outcomes).toContain('SandboxGoneError');
      for (const exitCode of [126, 127]) expect(await run(`exit ${exitCode}`)).toMatchObject({ exitCode });
    });
  });
} else {
  test.skip(`the end of commands in containers: ${reason}`, () => undefined);
  process.stderr.write(`skipped: the end of commands in containers (${reason})\n`);
}

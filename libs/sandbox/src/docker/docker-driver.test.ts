import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importImage, missingForDocker } from '@caribou/testing';
import Docker from 'dockerode';
import { DockerDriver } from './docker-driver.js';
import { describeDockerSuites, dockerDrivers, dockerSettings } from '../testing/driver-suites.js';

const IMAGE = 'caribou-sandbox-test:latest';
const openDriver = dockerDrivers({ image: IMAGE });
const settingsOf = (homeDir: string) => dockerSettings(homeDir, { image: IMAGE });

const reason = missingForDocker();
if (reason === null) {
  jest.setTimeout(60_000);
  beforeAll(() => importImage('caribou-sandbox-test'), 60_000);

  describeDockerSuites('DockerDriver', openDriver);

  describe('DockerDriver', () => {
    let home: string;
    let driver: DockerDriver;
    const sandbox = { sandboxId: `caribou-docker-${process.pid}`, managerId: 'm1', userId: 'default', threadId: 't1' };
    const run = (command: string) =>
      driver.exec(sandbox, { command, timeoutMs: 20_000, maxOutputBytes: 8192 }, new AbortController().signal);

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'caribou-docker-'));
      driver = await openDriver(home);
    });
    afterAll(async () => {
      await driver.remove(sandbox);
      rmSync(home, { recursive: true, force: true });
    });

    test('with a user for each sandbox runs commands as that user, and ends all of his processes', async () => {
      const uids = { first: 23_000, count: 16 };
      const own = new DockerDriver({ ...settingsOf(home), uids });
      const spec = { ...sandbox, sandboxId: `caribou-docker-uid-${process.pid}`, threadId: 'uid' };
      const command = {
        command: 'id -u; sleep 600 & echo mine > mine; ls -n',
        timeoutMs: 20_000,
        maxOutputBytes: 8192,
      };
      await own.create(spec, { fresh: true });

      const { stdout } = await own.exec(spec, command, new AbortController().signal);
      const { stdout: left } = await own.exec(spec, { ...command, command: 'ps' }, new AbortController().signal);
      await own.remove(spec);

      const [uid = ''] = stdout.split('\n');
      expect(Number(uid) >= uids.first && Number(uid) < uids.first + uids.count).toBe(true);
      expect(stdout).toMatch(new RegExp(`${uid} +10001 .* mine\n$`));
      expect(left).not.toContain('sleep 600');
    });

    test('runs PID 1 under another user, out of reach of commands', async () => {
      await driver.create(sandbox, { fresh: true });

      const { stdout } = await run('grep Uid /proc/1/status; kill -9 1; echo still here');

      expect(stdout).toMatch(/^Uid:\s+10002\s[^]*still here\n$/);
    });

    test('lists its sandboxes with whose they are, and those of no other installation', async () => {
      await driver.create(sandbox, { fresh: false });

      expect(await driver.list()).toEqual([{ ...sandbox, running: true, instance: expect.any(String) }]);
      expect(await new DockerDriver(settingsOf(`${home}-other`)).list()).toEqual([]);
    });

    test('removes the very container that was listed, not one that has its name since', async () => {
      await driver.create(sandbox, { fresh: true });
      const [listed] = await driver.list();
      if (listed === undefined) throw new Error('nothing listed');
      const other = { ...sandbox, managerId: 'm2' };
      await driver.create(other, { fresh: true });

      await driver.removeInstance(listed);
      expect(await driver.isAlive(other)).toBe(true);
      const [successor] = await driver.list();
      if (successor === undefined) throw new Error('nothing listed');
      await driver.removeInstance(successor);
      await driver.removeInstance(successor);
      expect([await driver.isAlive(other), await driver.list()]).toEqual([false, []]);
    });

    test('a command for a container that is gone is a SandboxGoneError, and runs once the sandbox is made again', async () => {
      await driver.create(sandbox, { fresh: false });
      await driver.remove(sandbox);

      await expect(run('echo no')).rejects.toMatchObject({ name: 'SandboxGoneError', code: 'unavailable' });
      await driver.create(sandbox, { fresh: false });
      expect(await run('echo yes')).toMatchObject({ stdout: 'yes\n' });
    });

    test('takes an image by its id, and no other one for a digest', async () => {
      const id = (await new Docker().getImage(IMAGE).inspect()).Id;
      const probeOf = (image: string) => new DockerDriver({ ...settingsOf(home), image }).probe();

      expect(await probeOf(id)).toMatchObject({ ok: true });
      expect(await probeOf(id.slice(0, 20))).toEqual({
        ok: false,
        reason: expect.stringContaining('not a whole digest'),
      });
      for (const other of [`sha256:${'0'.repeat(64)}`, `caribou-sandbox-test@sha256:${'0'.repeat(64)}`])
        expect(await probeOf(other)).toMatchObject({ ok: false, reason: expect.stringContaining(other) });
    });

    test('names the missing image or engine', async () => {
      const noImage = new DockerDriver({ ...settingsOf(home), image: 'caribou-none:1' });
      const noEngine = new DockerDriver({ ...settingsOf(home), engineSocket: join(home, 'none.sock') });

      expect(await noImage.probe()).toEqual({ ok: false, reason: 'the docker engine has no image caribou-none:1' });
      expect(await noEngine.probe()).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/^no docker engine answers/),
      });
    });
  });
} else {
  test.skip(`DockerDriver: ${reason}`, () => undefined);
  process.stderr.write(`skipped: DockerDriver (${reason})\n`);
}

import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importImage, missingForDocker, testSandboxSettings, waitFor } from '@caribou/testing';
import Docker from 'dockerode';
import { DockerDriver } from './docker-driver.js';

const IMAGE = 'caribou-sandbox-test';
const ENGINE = '/var/run/docker.sock';

/** A way to the engine whose connections can all be ended, as the kernel ends those of a process that was killed. */
class EngineSocket {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  constructor(readonly path: string) {
    this.server = createServer((client) => {
      const engine = connect(ENGINE);
      for (const [from, to] of [
        [client, engine],
        [engine, client],
      ] as const) {
        this.sockets.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
        from.pipe(to);
      }
    }).listen(path);
  }

  end(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

const reason = process.env['DOCKER_HOST'] === undefined ? missingForDocker() : 'the engine is at DOCKER_HOST';
if (reason === null) {
  jest.setTimeout(60_000);
  beforeAll(() => importImage(IMAGE), 60_000);

  describe('ContainerTethers', () => {
    const sandbox = { sandboxId: `caribou-tether-${process.pid}`, managerId: 'm1', userId: 'default', threadId: 't1' };
    const container = new Docker().getContainer(sandbox.sandboxId);
    const isThere = (): Promise<boolean> =>
      container.inspect().then(
        () => true,
        () => false,
      );
    const gone = () => waitFor(async () => !(await isThere()), { what: 'the end of the sandbox' });
    let home: string;
    let engine: EngineSocket;
    let driver: DockerDriver;
    const run = (command: string, signal = new AbortController().signal) =>
      driver.exec(sandbox, { command, timeoutMs: 20_000, maxOutputBytes: 8192 }, signal);

    beforeEach(async () => {
      home = mkdtempSync(join(tmpdir(), 'caribou-tether-'));
      engine = new EngineSocket(join(home, 'engine.sock'));
      const image = `${IMAGE}:latest`;
      driver = new DockerDriver(testSandboxSettings(home, { driver: 'docker', image, engineSocket: engine.path }));
      await driver.create(sandbox, { fresh: true });
    });
    afterEach(async () => {
      engine.end();
      await gone();
      rmSync(home, { recursive: true, force: true });
    });

    test('a sandbox ends and is removed when the process that made it is gone, whatever runs in it', async () => {
      expect(await run('echo ready')).toMatchObject({ stdout: 'ready\n' });
      const running = run('echo begun > begun; sleep 600').catch((error: unknown) => error);
      const second = new DockerDriver(testSandboxSettings(home, { driver: 'docker', image: `${IMAGE}:latest` }));
      expect(await second.list()).toHaveLength(1);

      engine.end();

      await gone();
      expect(await running).toBeInstanceOf(Error);
      expect(await second.list()).toEqual([]);
    });

    test('a sandbox that had to be made again ends with its manager too', async () => {
      const cancel = new AbortController();
      const running = run('sleep 600', cancel.signal);
      await waitFor(async () => JSON.stringify(await container.top()).includes('sleep 600'), {
        what: 'the command',
      });
      await container.pause();
      cancel.abort();
      expect(await running).toMatchObject({ endedBy: 'cancel', stderr: expect.stringContaining('started again') });
      expect(await run('echo still')).toMatchObject({ stdout: 'still\n' });

      engine.end();

      await gone();
    });

    test('a removed sandbox is gone when its removal settles, and can be made again', async () => {
      await driver.remove(sandbox);
      await driver.create(sandbox, { fresh: false });
      expect(await run('echo new')).toMatchObject({ stdout: 'new\n' });
      await driver.remove(sandbox);

      expect(await isThere()).toBe(false);
    });
  });
} else {
  test.skip(`ContainerTethers: ${reason}`, () => undefined);
  process.stderr.write(`skipped: ContainerTethers (${reason})\n`);
}

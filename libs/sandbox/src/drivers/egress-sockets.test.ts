import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIdentity } from '@caribou/core';
import type { SandboxSpec } from './driver.js';
import { EgressSockets } from './egress-sockets.js';

// A machine that has much else to do.
const sandbox: SandboxSpec = { sandboxId: 'caribou-1', managerId: 'm1', userId: 'default', threadId: 't1' };
const asked = { fresh: false };

describe('EgressSockets', () => {
  let root: string;
  let served: SandboxSpec[];
  const opened: EgressSockets[] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'caribou-exit-'));
    served = [];
  });
  afterEach(async () => {
    for (const sockets of opened.splice(0)) await sockets.close(sandbox);
    rmSync(root, { recursive: true, force: true });
  });

  function exitsAt(home: string): EgressSockets {
    const network = {
      serve: (socket: { end(): unknown }, spec: SandboxSpec) => {
        served.push(spec);
        socket.end();
      },
    };
    const sockets = new EgressSockets({ runDir: home, homeDir: join(root, 'data') }, network, () => commandIdentity());
    opened.push(sockets);
    return sockets;
  }

  async function knock(directory: string): Promise<void> {
    // The way a sandbox takes: the directory is mounted elsewhere, so no path is too long.
    const short = join(root, `s${readdirSync(root).length}`);
    symlinkSync(directory, short);
    const socket = connect(join(short, 'exit.sock'));
    await once(socket.resume(), 'close');
  }

  test('hands connections over with the sandbox they came from, below a home whose path no socket may have', async () => {
    const sockets = exitsAt(join(root, 'long-name-'.repeat(20)));
    const directory = await sockets.open(sandbox, asked);

    await knock(directory);

    expect(served).toEqual([sandbox]);
    expect(readdirSync(directory).sort()).toEqual(['exit.sock', 'forwarder.js']);
    expect(statSync(directory).mode & 0o022).toBe(0);
  });

  test('opens once, however many ask at a time, and opens again after a close', async () => {
    const sockets = exitsAt(root);
    const directories = await Promise.all([sockets.open(sandbox, asked), sockets.open(sandbox, asked)]);
    await sockets.open(sandbox, { fresh: true });
    await knock(directories[0]);
    await sockets.close(sandbox);
    await sockets.close(sandbox);

    expect(new Set(directories).size).toBe(1);
    expect([await sockets.directoryOf(sandbox), readdirSync(join(root, 'egress'))]).toEqual([undefined, []]);
    await knock(await sockets.open(sandbox, asked));
    expect(served).toHaveLength(2);
  });

  test('a fresh sandbox removes what other managers left of it, and they do not touch the new one when they close', async () => {
    const [paused, successor] = [exitsAt(root), exitsAt(root)];
    const old = await paused.open(sandbox, asked);
    const directory = await successor.open({ ...sandbox, managerId: 'm2' }, { fresh: true });
    expect([existsSync(old), existsSync(directory)]).toEqual([false, true]);

    await paused.close(sandbox);

    await knock(directory);
    expect(served).toEqual([{ ...sandbox, managerId: 'm2' }]);
  });

  test('is open again for a manager that takes a thread back after another one had it', async () => {
    const [first, second] = [exitsAt(root), exitsAt(root)];
    await first.open(sandbox, asked);
    await second.open({ ...sandbox, managerId: 'm2' }, { fresh: true });

    await knock(await first.open(sandbox, { fresh: true }));

    expect(served).toEqual([sandbox]);
    expect(readdirSync(join(root, 'egress', sandbox.sandboxId))).toEqual(['m1']);
  });

  test('removes the directory of a sandbox that a dead manager left, but none that is in use here', async () => {
    const [dead, reaper] = [exitsAt(root), exitsAt(root)];
    const left = await dead.open(sandbox, asked);
    reaper.removeLeft(sandbox);
    expect([existsSync(left), readdirSync(join(root, 'egress'))]).toEqual([false, []]);

    const own = await reaper.open(sandbox, asked);
    reaper.removeLeft(sandbox);
    expect(existsSync(own)).toBe(true);
  });

  test('removes what managers of an earlier version left of it in the home', async () => {
    const sockets = exitsAt(root);
    const left = join(root, 'data/egress', sandbox.sandboxId);
    mkdirSync(join(left, 'm0'), { recursive: true });
    await sockets.open(sandbox, { fresh: true });
    expect(existsSync(left)).toBe(false);

    mkdirSync(join(left, 'm0'), { recursive: true });
    await sockets.close(sandbox);
    sockets.removeLeft({ ...sandbox, managerId: 'm0' });
    expect(existsSync(left)).toBe(false);
  });
});

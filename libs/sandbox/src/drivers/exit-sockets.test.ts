import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIdentity } from '@caribou/core';
import type { BoxSpec } from './driver.js';
import { ExitSockets } from './exit-sockets.js';

// A machine that has much else to do.
jest.setTimeout(60_000);

const box: BoxSpec = { sandboxId: 'caribou-1', managerId: 'm1', userId: 'default', threadId: 't1' };
const asked = { fresh: false };

describe('ExitSockets', () => {
  let root: string;
  let served: BoxSpec[];
  const opened: ExitSockets[] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'caribou-exit-'));
    served = [];
  });
  afterEach(async () => {
    for (const exits of opened.splice(0)) await exits.close(box);
    rmSync(root, { recursive: true, force: true });
  });

  function exitsAt(home: string): ExitSockets {
    const network = {
      serve: (socket: { end(): unknown }, spec: BoxSpec) => {
        served.push(spec);
        socket.end();
      },
    };
    const exits = new ExitSockets(home, network, commandIdentity());
    opened.push(exits);
    return exits;
  }

  async function knock(directory: string): Promise<void> {
    // The way a box takes: the directory is mounted elsewhere, so no path is too long.
    const short = join(root, `s${readdirSync(root).length}`);
    symlinkSync(directory, short);
    const socket = connect(join(short, 'exit.sock'));
    await once(socket.resume(), 'close');
  }

  test('hands connections over with the box they came from, below a home whose path no socket may have', async () => {
    const exits = exitsAt(join(root, 'long-name-'.repeat(20)));
    const directory = await exits.open(box, asked);

    await knock(directory);

    expect(served).toEqual([box]);
    expect(readdirSync(directory).sort()).toEqual(['exit.sock', 'forwarder.js']);
    expect(statSync(directory).mode & 0o022).toBe(0);
  });

  test('opens once, however many ask at a time, and opens again after a close', async () => {
    const exits = exitsAt(root);
    const directories = await Promise.all([exits.open(box, asked), exits.open(box, asked)]);
    await exits.open(box, { fresh: true });
    await knock(directories[0]);
    await exits.close(box);
    await exits.close(box);

    expect(new Set(directories).size).toBe(1);
    expect([await exits.directoryOf(box), readdirSync(join(root, 'egress'))]).toEqual([undefined, []]);
    await knock(await exits.open(box, asked));
    expect(served).toHaveLength(2);
  });

  test('a fresh box removes what other managers left of it, and they do not touch the new one when they close', async () => {
    const [paused, successor] = [exitsAt(root), exitsAt(root)];
    const old = await paused.open(box, asked);
    const directory = await successor.open({ ...box, managerId: 'm2' }, { fresh: true });
    expect([existsSync(old), existsSync(directory)]).toEqual([false, true]);

    await paused.close(box);

    await knock(directory);
    expect(served).toEqual([{ ...box, managerId: 'm2' }]);
  });

  test('is open again for a manager that takes a thread back after another one had it', async () => {
    const [first, second] = [exitsAt(root), exitsAt(root)];
    await first.open(box, asked);
    await second.open({ ...box, managerId: 'm2' }, { fresh: true });

    await knock(await first.open(box, { fresh: true }));

    expect(served).toEqual([box]);
    expect(readdirSync(join(root, 'egress', box.sandboxId))).toEqual(['m1']);
  });

  test('removes the directory of a box that a dead manager left, but none that is in use here', async () => {
    const [dead, reaper] = [exitsAt(root), exitsAt(root)];
    const left = await dead.open(box, asked);
    reaper.removeLeft(box);
    expect([existsSync(left), readdirSync(join(root, 'egress'))]).toEqual([false, []]);

    const own = await reaper.open(box, asked);
    reaper.removeLeft(box);
    expect(existsSync(own)).toBe(true);
  });
});

import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { type CommandIdentity, errnoOf } from '@caribou/core';
import type { BoxSpec } from './driver.js';
import { makeClosedDirectory } from './closed-directory.js';
import { EXIT_SOCKET, FORWARDER, type SandboxNetwork } from './sandbox-network.js';

interface Exit {
  readonly directory: string;
  readonly server: Server;
  /** Of the directory. The socket's address goes through it, as a path may be longer than an address may (107 bytes). */
  readonly descriptor: number;
}

/**
 * The exits of boxes: for each box a directory with a unix socket and the forwarder in it, to be mounted into that box
 * alone. Directories lie at `egress/<sandbox>/<manager>` below the home, so that a manager that takes a thread over
 * never meets its predecessor's socket.
 */
export class ExitSockets {
  private readonly exits = new Map<string, Promise<Exit>>();
  private readonly folder: string;

  /** `user` is whom the forwarder runs as. */
  constructor(
    homeDir: string,
    private readonly network: SandboxNetwork,
    private readonly user: CommandIdentity,
  ) {
    this.folder = join(homeDir, 'egress');
  }

  /** The directory of a box's exit, which is open from then on. Idempotent. With `fresh`, other managers' are removed. */
  async open(box: BoxSpec, { fresh }: { readonly fresh: boolean }): Promise<string> {
    if (fresh) this.removeOthers(box);
    await this.closeIfRemoved(box);
    const known = this.exits.get(box.sandboxId);
    const opening = known ?? this.listen(box);
    this.exits.set(box.sandboxId, opening);
    try {
      return (await opening).directory;
    } catch (error) {
      if (this.exits.get(box.sandboxId) === opening) this.exits.delete(box.sandboxId);
      throw error;
    }
  }

  /** A manager that had the thread in between has removed the directory: what listens there is nobody's exit any more. */
  private async closeIfRemoved(box: BoxSpec): Promise<void> {
    const directory = await this.directoryOf(box);
    if (directory !== undefined && !existsSync(join(directory, EXIT_SOCKET))) await this.close(box);
  }

  /** The directory of an open exit. */
  async directoryOf({ sandboxId }: BoxSpec): Promise<string | undefined> {
    return (await this.exits.get(sandboxId))?.directory;
  }

  /** Closes the exit of a box and removes its directory. Idempotent. */
  async close({ sandboxId }: BoxSpec): Promise<void> {
    const opened = this.exits.get(sandboxId);
    if (opened === undefined) return;
    this.exits.delete(sandboxId);
    const { directory, server, descriptor } = await opened;
    server.close();
    closeSync(descriptor);
    removeDirectory(directory);
  }

  /** Removes the directory of a box that another manager left. */
  removeLeft({ sandboxId, managerId }: BoxSpec): void {
    if (!this.exits.has(sandboxId)) removeDirectory(join(this.folder, sandboxId, managerId));
  }

  private removeOthers({ sandboxId, managerId }: BoxSpec): void {
    try {
      for (const name of readdirSync(join(this.folder, sandboxId)))
        if (name !== managerId) removeDirectory(join(this.folder, sandboxId, name));
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
  }

  private async listen(box: BoxSpec): Promise<Exit> {
    const directory = join(this.folder, box.sandboxId, box.managerId);
    rmSync(directory, { recursive: true, force: true });
    const isRoot = process.getuid?.() === 0;
    for (const path of [this.folder, dirname(directory)]) makeClosedDirectory(path);
    mkdirSync(directory);
    chmodSync(directory, 0o755);
    await copyFile(join(__dirname, 'box-forwarder.js'), join(directory, FORWARDER));
    chmodSync(join(directory, FORWARDER), 0o444);
    const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    const server = createServer({ allowHalfOpen: true }, (socket) => this.network.serve(socket, box));
    try {
      server.listen(`/proc/self/fd/${descriptor}/${EXIT_SOCKET}`);
      await once(server, 'listening');
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    // A connection that was not accepted, for want of descriptors, is its client's loss.
    server.on('error', () => undefined);
    this.giveToUser(directory, isRoot);
    return { directory, server, descriptor };
  }

  /** The socket is for the forwarder's user alone, where this process may give it away; else for whoever has the mount. */
  private giveToUser(directory: string, isRoot: boolean): void {
    const socket = join(directory, EXIT_SOCKET);
    chmodSync(socket, isRoot ? 0o600 : 0o666);
    if (!isRoot) return;
    chownSync(socket, this.user.uid, this.user.gid);
    chownSync(directory, this.user.uid, this.user.gid);
    chmodSync(directory, 0o500);
  }
}

/** Removes it, and the one above when that is empty now. */
function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  try {
    rmdirSync(dirname(directory));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno !== 'ENOTEMPTY' && errno !== 'ENOENT') throw error;
  }
}

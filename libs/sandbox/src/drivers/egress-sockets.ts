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
import type { SandboxSpec } from './driver.js';
import { makeClosedDirectory } from './closed-directory.js';
import { EGRESS_SOCKET, FORWARDER, type SandboxNetwork } from './sandbox-network.js';

interface EgressSocket {
  readonly directory: string;
  readonly server: Server;
  /**
   * The open directory. The socket's address goes through it, as a path may be longer than an address may (107 bytes).
   */
  readonly descriptor: number;
}

const FOLDER = 'egress';

/**
 * The egress sockets of sandboxes: for each sandbox a directory with a unix socket and the forwarder in it, to be
 * mounted into that sandbox alone. Directories lie at `egress/<sandbox>/<manager>` below the run directory, so that a
 * manager that takes a thread over never meets its predecessor's socket. Managers of earlier versions had them below the
 * home; what they left there is removed too.
 */
export class EgressSockets {
  private readonly sockets = new Map<string, Promise<EgressSocket>>();
  private readonly folder: string;
  private readonly folders: readonly string[];

  /** `userOf` says whom the forwarder runs as. */
  constructor(
    { runDir, homeDir }: { readonly runDir: string; readonly homeDir: string },
    private readonly network: SandboxNetwork,
    private readonly userOf: (sandbox: SandboxSpec) => CommandIdentity,
  ) {
    this.folder = join(runDir, FOLDER);
    this.folders = [this.folder, join(homeDir, FOLDER)];
  }

  /**
   * The directory of a sandbox's socket, which is open from then on. Idempotent. With `fresh`, other managers' are
   * removed.
   */
  async open(sandbox: SandboxSpec, { fresh }: { readonly fresh: boolean }): Promise<string> {
    if (fresh) this.removeOthers(sandbox);
    await this.closeIfRemoved(sandbox);
    const known = this.sockets.get(sandbox.sandboxId);
    const opening = known ?? this.listen(sandbox);
    this.sockets.set(sandbox.sandboxId, opening);
    try {
      return (await opening).directory;
    } catch (error) {
      if (this.sockets.get(sandbox.sandboxId) === opening) this.sockets.delete(sandbox.sandboxId);
      throw error;
    }
  }

  /**
   * A manager that had the thread in between has removed the directory: the socket in it has no clients any more.
   */
  private async closeIfRemoved(sandbox: SandboxSpec): Promise<void> {
    const directory = await this.directoryOf(sandbox);
    if (directory !== undefined && !existsSync(join(directory, EGRESS_SOCKET))) await this.close(sandbox);
  }

  /** The directory of an open socket. */
  async directoryOf({ sandboxId }: SandboxSpec): Promise<string | undefined> {
    return (await this.sockets.get(sandboxId))?.directory;
  }

  /** Closes the socket of a sandbox and removes its directory. Idempotent. */
  async close({ sandboxId }: SandboxSpec): Promise<void> {
    const opened = this.sockets.get(sandboxId);
    if (opened === undefined) return;
    this.sockets.delete(sandboxId);
    const { directory, server, descriptor } = await opened;
    server.close();
    closeSync(descriptor);
    removeDirectory(directory);
  }

  /** Removes the directory of a sandbox that another manager left. */
  removeLeft({ sandboxId, managerId }: SandboxSpec): void {
    if (this.sockets.has(sandboxId)) return;
    for (const folder of this.folders) removeDirectory(join(folder, sandboxId, managerId));
  }

  private removeOthers({ sandboxId, managerId }: SandboxSpec): void {
    for (const directory of this.folders.map((folder) => join(folder, sandboxId)))
      for (const name of namesIn(directory)) if (name !== managerId) removeDirectory(join(directory, name));
  }

  private async listen(sandbox: SandboxSpec): Promise<EgressSocket> {
    const directory = join(this.folder, sandbox.sandboxId, sandbox.managerId);
    rmSync(directory, { recursive: true, force: true });
    const isRoot = process.getuid?.() === 0;
    for (const path of [this.folder, dirname(directory)]) makeClosedDirectory(path);
    mkdirSync(directory);
    chmodSync(directory, 0o755);
    await copyFile(join(__dirname, 'sandbox-forwarder.js'), join(directory, FORWARDER));
    chmodSync(join(directory, FORWARDER), 0o444);
    const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    const server = createServer({ allowHalfOpen: true }, (socket) => this.network.serve(socket, sandbox));
    try {
      server.listen(`/proc/self/fd/${descriptor}/${EGRESS_SOCKET}`);
      await once(server, 'listening');
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    // A connection that was not accepted, for want of descriptors, is its client's loss.
    server.on('error', () => undefined);
    this.giveToUser(directory, isRoot ? this.userOf(sandbox) : undefined);
    return { directory, server, descriptor };
  }

  /**
   * Gives the socket to the forwarder's user alone, where this process may; else every user with the mount can use it.
   */
  private giveToUser(directory: string, user: CommandIdentity | undefined): void {
    const socket = join(directory, EGRESS_SOCKET);
    chmodSync(socket, user === undefined ? 0o666 : 0o600);
    if (user === undefined) return;
    chownSync(socket, user.uid, user.gid);
    chownSync(directory, user.uid, user.gid);
    chmodSync(directory, 0o500);
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
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

import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { SandboxDriverKind } from '@caribou/contracts';
import { errnoOf } from '@caribou/core';
import { z } from 'zod';

/** What a manager writes down so that others can see that its process has ended. */
const ManagerRecord = z.object({
  managerId: z.string(),
  /** Identifies the boot of the machine's kernel, which its containers share. */
  bootId: z.string(),
  /** The file of its socket, as device and inode: another mount may have another file under the same path. */
  socket: z.string(),
  /** The drivers that it creates sandboxes with; null where `SandboxDriver.domain` was not known. */
  domains: z.array(z.object({ driver: SandboxDriverKind, domain: z.string().nullable() })),
});
export type ManagerRecord = z.infer<typeof ManagerRecord>;

const RECORD = /^([\w-]+)\.json$/;
/** The kernel answers at once; this only bounds the wait. */
const CONNECT_MS = 1000;

interface OpenFolder {
  readonly bootId: string;
  /** Addresses of sockets lead through the open folder: its path may be longer than an address may be (107 bytes). */
  readonly handle: FileHandle;
}

/** The records and sockets of sandbox-managers of one machine in its run directory, two files per manager. */
export class ManagerRecords {
  private readonly path: string;
  private folder: OpenFolder | undefined;

  constructor(runDir: string) {
    this.path = join(runDir, 'managers');
  }

  /** @throws a system error when there can be no such folder, or the kernel has no id of its boot */
  async open(): Promise<OpenFolder> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    return this.openExisting();
  }

  /** The same for a folder that is not made. @throws a system error when it does not exist, and as `open` */
  async openExisting(): Promise<OpenFolder> {
    const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const handle = await open(this.path, constants.O_RDONLY | constants.O_DIRECTORY);
    this.folder = { bootId, handle };
    return this.folder;
  }

  async close(): Promise<void> {
    const { folder } = this;
    this.folder = undefined;
    await folder?.handle.close();
  }

  /** The boot of this machine's kernel; undefined while the folder is not open. */
  get bootId(): string | undefined {
    return this.folder?.bootId;
  }

  /** Writes a record as a whole: nobody reads a part of it. */
  async write(record: ManagerRecord): Promise<void> {
    const path = this.recordPath(record.managerId);
    await writeFile(`${path}.part`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${path}.part`, path);
  }

  /** The managers that have a record. */
  async list(): Promise<readonly string[]> {
    return (await readdir(this.path)).map((name) => RECORD.exec(name)?.[1]).filter((id) => id !== undefined);
  }

  /** Reads a record; null when it does not exist or cannot be parsed. */
  async read(managerId: string): Promise<ManagerRecord | null> {
    try {
      const parsed = ManagerRecord.safeParse(JSON.parse(await readFile(this.recordPath(managerId), 'utf8')));
      return parsed.success && parsed.data.managerId === managerId ? parsed.data : null;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** Removes the record first: without it, the socket proves nothing. */
  async remove(managerId: string): Promise<void> {
    await rm(this.recordPath(managerId), { force: true });
    await rm(join(this.path, `${managerId}.sock`), { force: true });
  }

  /** How long ago a record was written, in milliseconds, at `nowMs` of the system's clock; 0 when it does not exist. */
  async ageMs(managerId: string, nowMs: number): Promise<number> {
    try {
      return nowMs - (await stat(this.recordPath(managerId))).mtimeMs;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return 0;
      throw error;
    }
  }

  /** The address of a manager's socket, for this process alone; undefined while the folder is not open. */
  socketPath(managerId: string): string | undefined {
    return this.folder === undefined ? undefined : `/proc/self/fd/${this.folder.handle.fd}/${managerId}.sock`;
  }

  private recordPath(managerId: string): string {
    return join(this.path, `${managerId}.json`);
  }
}

/** Device and inode of a file; null when it does not exist. */
export async function identifyFile(path: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Whether the kernel refuses a connection to a socket file, which it does only when no process listens on it. A process
 * that is paused or busy still accepts connections until its queue is full; the error is another one then.
 */
export async function isRefused(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return false;
  } catch (error) {
    return errnoOf(error) === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, opendir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, type FileSource } from '@caribou/core';
import { prepareHome } from '../data-home.js';
import { FileRefusedError, toFileRefused } from '../file-refused.js';
import { MAX_FILE_BYTES } from '../thread-files.js';

const SUFFIX = '.upload';
const OWNER_ONLY = 0o600;
/** A file this old was left by a killed process: no request lasts so long. */
const STALE_MS = 3_600_000;

/** A received file on the disk of this machine, until it is in the object store. */
export interface SpooledFile extends FileSource {
  remove(): Promise<void>;
}

/** A directory of this machine for files that are being received. Nothing in it outlives its request. */
export class Spool {
  private readonly directory: string;

  constructor(private readonly homeDir: string) {
    this.directory = join(homeDir, 'receiving');
  }

  /**
   * Writes a stream to a file as it arrives. Errors of the stream are rethrown, and the file is removed.
   *
   * @throws {FileRefusedError} `too_large` over `maxBytes`, `no_space` on a full disk
   */
  async receive(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SpooledFile> {
    const path = join(this.directory, `${randomUUID()}${SUFFIX}`);
    const handle = await this.openNew(path).catch((error: unknown) => {
      throw toFileRefused(error, 'uploads');
    });
    try {
      let size = 0;
      for await (const chunk of source) {
        size += chunk.byteLength;
        if (size > Math.min(maxBytes, MAX_FILE_BYTES)) throw new FileRefusedError('too_large', 'the file');
        await handle.writeFile(chunk);
      }
      return { size, open: () => createReadStream(path), remove: () => removeIfThere(path) };
    } catch (error) {
      await removeIfThere(path);
      throw errnoOf(error) === undefined ? error : toFileRefused(error, 'uploads');
    } finally {
      await handle.close();
    }
  }

  private async openNew(path: string): Promise<FileHandle> {
    prepareHome(this.homeDir);
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    return open(path, 'wx', OWNER_ONLY);
  }

  /** Removes what killed processes have left. */
  async removeStale(): Promise<void> {
    const entries = await opendir(this.directory).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (entries === undefined) return;
    for await (const { name } of entries) {
      if (!name.endsWith(SUFFIX)) continue;
      const path = join(this.directory, name);
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < Date.now() - STALE_MS) await removeIfThere(path);
    }
  }
}

async function removeIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (errnoOf(error) !== 'ENOENT') throw error;
  });
}

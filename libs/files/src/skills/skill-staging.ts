import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '@caribou/core';
import { prepareHome } from '../data-home.js';
import { FileRefusedError, toFileRefused } from '../file-refused.js';
import { NEW_FILE, TEMPORARY_MODE } from '../thread-path.js';
import {
  DATA_MODE,
  makeDirectory,
  prepareSkillDirectory,
  PROGRAM_MODE,
  PUBLIC_DIRECTORY_MODE,
} from './skill-directories.js';

/** Free disk space is checked again after this many bytes. */
const LOOK_BYTES = 16 * 1024 * 1024;

export interface StagedFileOptions {
  readonly isProgram: boolean;
  /** Brings the file to the disk before the write returns, so that a power cut leaves no shorter one. */
  readonly isSynced?: boolean;
}

/** A directory for the files of one skill, not visible to anybody until it is moved. */
export class StagingDirectory {
  private unseenBytes = LOOK_BYTES;

  private constructor(
    private readonly homeDir: string,
    private readonly userId: string,
    readonly path: string,
    private readonly minFreeBytes: number,
  ) {}

  static async open(homeDir: string, userId: string, minFreeBytes: number): Promise<StagingDirectory> {
    prepareHome(homeDir);
    const path = join(await prepareSkillDirectory(homeDir, userId, 'staging'), randomUUID());
    await makeDirectory(path, PUBLIC_DIRECTORY_MODE);
    return new StagingDirectory(homeDir, userId, path, minFreeBytes);
  }

  /** Makes a file and the directories above it. Bytes written. @throws {FileRefusedError} `no_space` */
  async write(
    segments: readonly string[],
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { isProgram, isSynced = false }: StagedFileOptions,
  ): Promise<number> {
    try {
      const handle = await this.newFile(segments);
      try {
        const written = await this.writeAll(handle, content);
        await handle.chmod(isProgram ? PROGRAM_MODE : DATA_MODE);
        if (isSynced) await handle.sync();
        return written;
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw toFileRefused(error, 'the skill');
    }
  }

  /**
   * Moves all files to `<kind>/<id>` in one step. When a directory with files is there already, that one stays: the files of an id
   * are always the same.
   */
  async moveTo(kind: 'installed' | 'fetched', id: string): Promise<void> {
    const target = join(await prepareSkillDirectory(this.homeDir, this.userId, kind), id);
    try {
      await rename(this.path, target);
    } catch (error) {
      if (!['EEXIST', 'ENOTEMPTY'].includes(errnoOf(error) ?? '')) throw error;
    }
  }

  /** Removes what was not moved. */
  close(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }

  private async newFile(segments: readonly string[]): Promise<FileHandle> {
    let above = this.path;
    for (const name of segments.slice(0, -1)) {
      above = join(above, name);
      await makeDirectory(above, PUBLIC_DIRECTORY_MODE);
    }
    return open(join(above, segments.at(-1) ?? ''), NEW_FILE, TEMPORARY_MODE);
  }

  private async writeAll(
    handle: FileHandle,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<number> {
    let written = 0;
    for await (const chunk of content) {
      await this.requireRoom(chunk.byteLength);
      await handle.writeFile(chunk);
      written += chunk.byteLength;
    }
    return written;
  }

  private async requireRoom(bytes: number): Promise<void> {
    this.unseenBytes += bytes;
    if (this.unseenBytes < LOOK_BYTES) return;
    this.unseenBytes = 0;
    const { bavail, bsize } = await statfs(this.path);
    if (bavail * bsize < this.minFreeBytes) throw new FileRefusedError('no_space', 'the skill');
  }
}

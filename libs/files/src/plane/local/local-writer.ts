import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CommandIdentity, type DirectoryNode, errnoOf, type FileNode, type LinkNode } from '@caribou/core';
import { NEW_FILE, TEMPORARY_MODE } from '../../thread-path.js';
import { parentOf, PERMISSION_BITS } from '../tree/tree-nodes.js';
import type { CopyEntry } from './copy-index.js';
import { isClosed, isGone, type LocalTree } from './local-tree.js';
import { type Stamp, stampOf } from './stamps.js';

const isRoot = (): boolean => process.getuid?.() === 0;
const OWNER_BITS = 0o700;
/** Blocks of zeros of this size become holes. */
const BLOCK_BYTES = 4_096;
const ZEROS = Buffer.alloc(BLOCK_BYTES);
/** Errors of a name that a running command has put something else at. */
const taken = new Set(['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY', 'EBUSY']);

/** Whether the step failed because of what a running command has done meanwhile. */
export const isObstructed = (error: unknown): boolean => isGone(error) || taken.has(errnoOf(error) ?? '');

/**
 * Writes nodes into a local tree. Files and links are made in a directory that no sandbox can reach, complete with owner, mode and
 * time, and then renamed to their path, so a command sees the old or the new one (F3).
 */
export class LocalWriter {
  constructor(
    private readonly local: LocalTree,
    private readonly staging: string,
    private readonly owner: CommandIdentity,
  ) {}

  /** Opens a file to be placed. */
  stage(): StagedCopy {
    const path = join(this.staging, randomUUID());
    return new StagedCopy(path, openSync(path, NEW_FILE, TEMPORARY_MODE));
  }

  /** Gives a staged file its path; it is closed then. @throws a system error, after which the file is removed */
  place(staged: StagedCopy, path: string, node: FileNode): CopyEntry {
    try {
      const { descriptor } = staged;
      ftruncateSync(descriptor, node.size);
      if (isRoot()) fchownSync(descriptor, this.owner.uid, this.owner.gid);
      fchmodSync(descriptor, node.mode & PERMISSION_BITS);
      futimesSync(descriptor, node.modifiedMs / 1000, node.modifiedMs / 1000);
      this.renameTo(staged.path, path);
      return { node, stamp: stampOf(fstatSync(descriptor)) };
    } catch (error) {
      staged.discard();
      throw error;
    } finally {
      staged.close();
    }
  }

  /** Gives a file that is there the mode and time of the node; undefined when it is gone, closed, or has other names. */
  touch(path: string, node: FileNode): CopyEntry | undefined {
    const descriptor = unlessClosed(() => this.local.openFile(path));
    if (descriptor === undefined) return undefined;
    try {
      if (fstatSync(descriptor).nlink > 1) return undefined;
      fchmodSync(descriptor, node.mode & PERMISSION_BITS);
      futimesSync(descriptor, node.modifiedMs / 1000, node.modifiedMs / 1000);
      return { node, stamp: stampOf(fstatSync(descriptor)) };
    } finally {
      closeSync(descriptor);
    }
  }

  link(path: string, node: LinkNode): CopyEntry {
    const staged = join(this.staging, randomUUID());
    symlinkSync(Buffer.from(node.target, 'latin1'), staged);
    if (isRoot()) lchownSync(staged, this.owner.uid, this.owner.gid);
    try {
      this.renameTo(staged, path);
    } catch (error) {
      unlinkSync(staged);
      throw error;
    }
    return { node, stamp: stampOf(lstatSync(this.local.at(path))) };
  }

  /** Makes a directory, or gives the one that is there the mode. */
  directory(path: string, node: DirectoryNode): CopyEntry {
    const parent = parentOf(path);
    if (parent !== undefined) this.local.makeWritable(parent);
    const isNew = makes(this.local.at(path));
    const descriptor = this.local.directory(path);
    if (isNew && isRoot()) fchownSync(descriptor, this.owner.uid, this.owner.gid);
    const mode = node.mode & PERMISSION_BITS;
    const isOpen = isRoot() || (mode & OWNER_BITS) === OWNER_BITS;
    if (!isOpen) this.local.setModeAtClose(path, mode);
    fchmodSync(descriptor, isOpen ? mode : mode | OWNER_BITS);
    return { node, stamp: { ...stampOf(fstatSync(descriptor)), mode } };
  }

  /** Removes a file, a link or an empty directory. Whether it is gone; false when a directory has something in it. */
  remove(path: string, kind: Stamp['kind']): boolean {
    const parent = parentOf(path);
    if (parent === undefined) return false;
    try {
      this.local.makeWritable(parent);
      if (kind === 'directory') rmdirSync(this.local.at(path));
      else unlinkSync(this.local.at(path));
      if (kind === 'directory') this.local.forget();
      return true;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return true;
      if (isObstructed(error)) return false;
      throw error;
    }
  }

  /** Moves an entry, with all below it, to where no sandbox can reach it. Whether there was one. */
  moveOut(path: string): boolean {
    const parent = parentOf(path);
    if (parent === undefined) return false;
    try {
      this.local.makeWritable(parent);
      if (this.local.stamp(path)?.kind === 'directory') this.local.makeWritable(path);
      renameSync(this.local.at(path), join(this.staging, randomUUID()));
      this.local.forget();
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  private renameTo(staged: string, path: string): void {
    const parent = parentOf(path);
    if (parent !== undefined) this.local.makeWritable(parent);
    renameSync(staged, this.local.at(path));
  }
}

/** A file that is being written, at a path that no sandbox can reach. */
export class StagedCopy {
  private position = 0;
  private isOpen = true;

  constructor(
    readonly path: string,
    readonly descriptor: number,
  ) {}

  /** Adds bytes; whole blocks of zeros are left out, so that holes stay holes. */
  write(bytes: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < bytes.byteLength; at += BLOCK_BYTES) {
      const block = bytes.subarray(at, at + BLOCK_BYTES);
      if (block.byteLength < BLOCK_BYTES || ZEROS.compare(block) !== 0) continue;
      this.put(bytes.subarray(from, at), from);
      from = at + BLOCK_BYTES;
    }
    this.put(bytes.subarray(from), from);
    this.position += bytes.byteLength;
  }

  discard(): void {
    this.close();
    try {
      unlinkSync(this.path);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
  }

  close(): void {
    if (this.isOpen) closeSync(this.descriptor);
    this.isOpen = false;
  }

  private put(bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.byteLength; ) {
      at += writeSync(this.descriptor, bytes, at, bytes.byteLength - at, this.position + offset + at);
    }
  }
}

function unlessClosed<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isClosed(error)) return undefined;
    throw error;
  }
}

/** Makes a directory; false when there is something already. */
function makes(path: Buffer): boolean {
  try {
    mkdirSync(path, OWNER_BITS);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

import {
  chmodSync,
  closeSync,
  constants,
  type Dir,
  fchmodSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
} from 'node:fs';
import { errnoOf } from '@caribou/core';
import { nameOf, parentOf, PERMISSION_BITS } from '../tree/tree-nodes.js';
import { type Stamp, stampOf } from './stamps.js';

/**
 * The three data directories of a thread, reached by paths of trees. Every name is opened through the descriptor of its directory
 * and links are refused (F1 of thread-files.ts), so no rename by a running command leads a step elsewhere. Calls of the system are
 * made without waiting, which costs a tenth; whoever makes many of them yields in between.
 */

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** O_PATH of Linux, which Node has no name for: a descriptor that needs no permission. */
const O_PATH = 0o10000000;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const OWNER_BITS = 0o700;
/** Descriptors of directories that are open at the same time. */
const MAX_OPEN = 64;

/** Errors of an entry that a running command changed after it was seen. */
const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE', 'ENXIO', 'ENODEV']);
const closed = new Set(['EACCES', 'EPERM']);

export const isGone = (error: unknown): boolean => gone.has(errnoOf(error) ?? '');
export const isClosed = (error: unknown): boolean => closed.has(errnoOf(error) ?? '');

/** The result of `look`, or undefined when the entry is gone. */
export function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** A path that leads to what is open, whatever has its name by now. */
export const descriptorPath = (descriptor: number): string => `/proc/self/fd/${descriptor}`;

/** Names in an open directory, each byte a character, at most `max`. @throws a system error */
export function namesIn(descriptor: number, max: number): string[] {
  const listing: Dir = opendirSync(descriptorPath(descriptor), { encoding: 'latin1', bufferSize: 512 });
  try {
    const names: string[] = [];
    for (let entry = listing.readSync(); entry !== null && names.length < max; entry = listing.readSync()) {
      names.push(entry.name);
    }
    return names;
  } finally {
    listing.closeSync();
  }
}

export class LocalTree {
  private readonly open = new Map<string, number>();
  /** Modes of directories that were opened to this process for a while. */
  private readonly opened = new Map<string, number>();
  private readonly root: number;

  /** @param userData the directory of the platform that has the three data directories */
  constructor(userData: string) {
    this.root = openSync(userData, DIRECTORY);
  }

  /** The path of an entry through the descriptor of its directory; valid until the next call. @throws a system error */
  at(path: string): Buffer {
    const parent = parentOf(path);
    const directory = parent === undefined ? this.root : this.directory(parent);
    return Buffer.from(`${descriptorPath(directory)}/${nameOf(path)}`, 'latin1');
  }

  /** An open descriptor of a directory, which stays this object's. @throws a system error */
  directory(path: string): number {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    const descriptor = openSync(this.at(path), DIRECTORY);
    this.open.set(path, descriptor);
    if (this.open.size > MAX_OPEN) this.closeOldest();
    return descriptor;
  }

  /** A descriptor of a directory, which the caller closes; of the one that has the data directories for ''. @throws a system error */
  openDirectory(path: string): number {
    return openSync(path === '' ? `${descriptorPath(this.root)}/.` : this.at(path), DIRECTORY);
  }

  /** Undefined when there is nothing. @throws a system error when the directory is closed to this process */
  stamp(path: string): Stamp | undefined {
    return unlessGone(() => stampOf(lstatSync(this.at(path))));
  }

  /** The target of a link, each byte a character; undefined when it is none any more. */
  linkTarget(path: string): string | undefined {
    try {
      return readlinkSync(this.at(path), 'latin1');
    } catch (error) {
      if (isGone(error) || errnoOf(error) === 'EINVAL') return undefined;
      throw error;
    }
  }

  /** A descriptor of a regular file, which the caller closes; undefined when it is none any more. @throws a system error */
  openFile(path: string): number | undefined {
    const descriptor = unlessGone(() => openSync(this.at(path), READ));
    if (descriptor === undefined || fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
    return undefined;
  }

  /** Names in a directory, at most `max`. @throws a system error */
  names(path: string, max: number): string[] {
    return namesIn(this.directory(path), max);
  }

  /**
   * Lets this process write in a directory whose owner may not; `close` restores the mode. Without effect for root, who may
   * write everywhere.
   */
  makeWritable(path: string): void {
    if (process.getuid?.() === 0 || this.opened.has(path)) return;
    const above = parentOf(path);
    if (above !== undefined) this.makeWritable(above);
    const handle = openSync(this.at(path), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const mode = fstatSync(handle).mode & PERMISSION_BITS;
      if ((mode & OWNER_BITS) === OWNER_BITS) return;
      chmodSync(descriptorPath(handle), mode | OWNER_BITS);
      this.opened.set(path, mode);
    } finally {
      closeSync(handle);
    }
  }

  /** The mode that `close` gives a directory. */
  setModeAtClose(path: string, mode: number): void {
    this.opened.set(path, mode);
  }

  /** Closes descriptors of directories, as one of them was removed or replaced. */
  forget(): void {
    for (const descriptor of this.open.values()) closeSync(descriptor);
    this.open.clear();
  }

  /** Restores modes, the deepest directories first, and closes all descriptors. */
  close(): void {
    try {
      const deepestFirst = [...this.opened].sort(([left], [right]) => right.length - left.length);
      for (const [path, mode] of deepestFirst) unlessGone(() => fchmodSync(this.directory(path), mode));
    } finally {
      this.forget();
      closeSync(this.root);
    }
  }

  private closeOldest(): void {
    const oldest = this.open.entries().next();
    if (oldest.done === true) return;
    const [path, descriptor] = oldest.value;
    this.open.delete(path);
    closeSync(descriptor);
  }
}

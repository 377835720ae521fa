import { createHash, type Hash } from 'node:crypto';
import { InvalidRequestError, TooLargeError } from '@caribou/contracts';
import type { MirrorCounts, MirrorStep, TreeNode } from '@caribou/core';
import type { CopyEntry, CopyIndex } from '../plane/local/copy-index.js';
import type { LocalTree } from '../plane/local/local-tree.js';
import { isObstructed, type LocalWriter, type StagedCopy } from '../plane/local/local-writer.js';
import type { Stamp } from '../plane/local/stamps.js';
import { parentOf, sameNode } from '../plane/tree/tree-nodes.js';
import { requireLinkTarget, requireMirrorPath, requireMode } from './mirror-path.js';
import { mirroredFile } from './sent-changes.js';

/** Most that one exchange may bring. */
export interface MirrorBounds {
  /** Entries and removed paths. */
  readonly entries: number;
  readonly bytes: number;
  /** Bytes of one file. */
  readonly fileBytes: number;
}

type FileStep = Extract<MirrorStep, { kind: 'file' }>;

/** A file that is being received. */
interface Incoming {
  readonly file: FileStep;
  readonly staged: StagedCopy;
  readonly hash: Hash;
  bytes: number;
}

const ZEROS = Buffer.alloc(128 * 1024);

export interface ReceiverOptions {
  readonly local: LocalTree;
  readonly writer: LocalWriter;
  /** Gets each entry as soon as it is applied. */
  readonly index: CopyIndex;
  readonly roots: readonly string[];
  readonly bounds: MirrorBounds;
  /** Whether a directory in the way is moved out with all that is in it, and not left for what is in it. */
  readonly isForced: boolean;
  /** Called before the first step that changes something. */
  readonly onFirst: () => void;
}

/** Applies the steps of the other side one by one. */
export class ReceivedChanges {
  private incoming: Incoming | undefined;
  private entries = 0;
  private bytes = 0;

  constructor(private readonly options: ReceiverOptions) {}

  /** @throws {InvalidRequestError} @throws {TooLargeError} @throws a system error */
  async apply(steps: AsyncIterable<MirrorStep>): Promise<MirrorCounts> {
    try {
      for await (const step of steps) {
        if (step.kind === 'end') return this.finish(step);
        this.take(step);
      }
    } finally {
      this.incoming?.staged.discard();
    }
    throw new InvalidRequestError('a change of files breaks off before its end');
  }

  private finish({ entries, skipped }: Extract<MirrorStep, { kind: 'end' }>): MirrorCounts {
    if (this.incoming !== undefined) throw new InvalidRequestError('a change of files ends within a file');
    // A link that was gone when it was read counts for the sender.
    if (entries < this.entries) throw new InvalidRequestError('a change of files has more entries than its end says');
    return { entries: this.entries, bytes: this.bytes, skipped };
  }

  private take(step: Exclude<MirrorStep, { kind: 'end' }>): void {
    switch (step.kind) {
      case 'data':
        return this.addBytes(step.bytes);
      case 'zeros':
        return this.addZeros(step.length);
      case 'fileEnd':
        return this.endFile(step.sha256);
      case 'remove':
        return step.paths.forEach((path) => this.remove(path));
      case 'directory':
        requireMode(step.mode);
        return this.place(step.path, { kind: 'directory', mode: step.mode });
      case 'link':
        requireLinkTarget(step.target);
        return this.place(step.path, { kind: 'link', target: step.target });
      case 'file':
        return this.beginFile(step);
    }
  }

  private count(path: string): void {
    if (this.incoming !== undefined) throw new InvalidRequestError('a file has to end before the next entry');
    requireMirrorPath(path, this.options.roots);
    if (this.entries === 0) this.options.onFirst();
    this.entries += 1;
    const { entries } = this.options.bounds;
    if (this.entries <= entries) return;
    throw new TooLargeError(`a change of files may have ${entries} entries`, { details: { limit: entries } });
  }

  private remove(path: string): void {
    this.count(path);
    const { local, writer, index, isForced } = this.options;
    // Sent again by an exchange that broke off: what is here now was made since.
    if (!index.entries.has(path)) return;
    const stamp = local.stamp(path);
    const isGone = stamp === undefined || writer.remove(path, stamp.kind) || (isForced && writer.moveOut(path));
    // The other side has nothing there: what is left here, as somebody has put something into it, is a change of this side.
    index.entries.delete(path);
    if (!isGone) index.dirty.add(path);
  }

  private place(path: string, node: Exclude<TreeNode, { kind: 'file' }>): void {
    this.count(path);
    if (parentOf(path) === undefined && node.kind !== 'directory')
      throw new InvalidRequestError('a data directory is a directory');
    const { writer } = this.options;
    this.attempt(path, node, () =>
      node.kind === 'directory' ? writer.directory(path, node) : writer.link(path, node),
    );
  }

  private beginFile(file: FileStep): void {
    this.count(file.path);
    requireMode(file.mode);
    if (parentOf(file.path) === undefined) throw new InvalidRequestError('a data directory is a directory');
    const { bytes, fileBytes } = this.options.bounds;
    if (file.size > fileBytes)
      throw new TooLargeError(`a file that is exchanged may have ${fileBytes} bytes`, {
        details: { limit: fileBytes },
      });
    if (this.bytes + file.size > bytes)
      throw new TooLargeError(`files that are exchanged may have ${bytes} bytes`, { details: { limit: bytes } });
    this.incoming = { file, staged: this.options.writer.stage(), hash: createHash('sha256'), bytes: 0 };
  }

  private incomingFile(more: number): Incoming {
    const { incoming } = this;
    if (incoming === undefined) throw new InvalidRequestError('bytes of a file come after its entry');
    incoming.bytes += more;
    if (incoming.bytes > incoming.file.size) throw new InvalidRequestError('a file has more bytes than its entry says');
    return incoming;
  }

  private addBytes(bytes: Uint8Array): void {
    const { staged, hash } = this.incomingFile(bytes.byteLength);
    hash.update(bytes);
    staged.write(bytes);
  }

  private addZeros(length: number): void {
    const { staged, hash } = this.incomingFile(length);
    for (let left = length; left > 0; left -= ZEROS.byteLength) {
      const zeros = ZEROS.subarray(0, Math.min(left, ZEROS.byteLength));
      hash.update(zeros);
      staged.write(zeros);
    }
  }

  private endFile(sha256: string | null): void {
    const { staged, file, hash, bytes } = this.incomingFile(0);
    if (sha256 === null) {
      staged.discard();
      this.incoming = undefined;
      return;
    }
    if (bytes !== file.size || hash.digest('hex') !== sha256)
      throw new InvalidRequestError('the bytes of a file are not those of its checksum');
    this.incoming = undefined;
    const node = mirroredFile(file, sha256);
    this.bytes += file.size;
    this.attempt(file.path, node, () => this.options.writer.place(staged, file.path, node));
    staged.discard();
  }

  /** Does what makes the path be the node; what somebody does here meanwhile may be in the way, and is left as it is. */
  private attempt(path: string, node: TreeNode, act: () => CopyEntry): void {
    const { index } = this.options;
    // Sent again by an exchange that broke off: what differs from it was changed here since.
    if (sameNode(index.entries.get(path)?.node, node)) return;
    try {
      this.clearWay(path, node);
      index.entries.set(path, act());
      index.dirty.delete(path);
    } catch (error) {
      if (!isObstructed(error)) throw error;
      // The other side has the node: the next scan finds the difference.
      index.entries.set(path, { node, stamp: NEVER });
      index.dirty.add(path);
    }
  }

  /** Removes what no rename replaces. */
  private clearWay(path: string, node: TreeNode): void {
    const { local, writer, isForced } = this.options;
    const there = local.stamp(path);
    if (there === undefined || parentOf(path) === undefined) return;
    if (there.kind === node.kind || (there.kind !== 'directory' && node.kind !== 'directory')) return;
    if (!writer.remove(path, there.kind) && isForced) writer.moveOut(path);
  }
}

/** The stamp of nothing. */
const NEVER: Stamp = { kind: 'special', ino: -1, mode: 0, size: -1, mtimeMs: -1, ctimeMs: -1 };

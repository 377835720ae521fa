import type { FileNode, MirrorStep } from '@caribou/core';
import type { CopyEntry } from '../plane/local/copy-index.js';
import type { LocalTree } from '../plane/local/local-tree.js';
import { isSettled } from '../plane/local/file-times.js';
import type { LocalChanges } from '../plane/local/scan.js';
import { modifiedMsOf, sameStamp, type Stamp } from '../plane/local/stamps.js';
import { depthOf } from '../plane/tree/tree-nodes.js';
import { readSteps } from './read-steps.js';

/** Paths of a step, and characters of them: each takes at most six bytes of a frame. */
const MAX_REMOVED = 32;
const MAX_REMOVED_CHARACTERS = 32 * 1024;

const OWNER_READ = 0o400;
/** Nodes of an exchange are in no object store. */
const NOWHERE: FileNode['content'] = { object: '', offset: 0 };

/** A file of an exchange. */
export const mirroredFile = (
  { mode, size, modifiedMs }: Pick<FileNode, 'mode' | 'size' | 'modifiedMs'>,
  sha256: string,
): FileNode => ({ kind: 'file', mode, size, modifiedMs, sha256, content: NOWHERE });

/** Gives what a scan has found as steps, and notes what the other side has then. */
export class SentChanges {
  /** Entries that the other side has once it has applied the steps. */
  readonly set = new Map<string, CopyEntry>();
  /** Paths that the next scan looks at again: they changed while they were read, or may have. */
  readonly late = new Set<string>();
  private bytes = 0;
  private skipped = 0;

  constructor(
    private readonly local: LocalTree,
    readonly found: LocalChanges,
  ) {}

  async *steps(): AsyncGenerator<MirrorStep, void, undefined> {
    const removed = [...this.found.removed].sort((left, right) => depthOf(right) - depthOf(left));
    yield* removalsOf(removed);
    for (const [path, stamp] of this.found.changed) {
      if (stamp.kind === 'directory') yield this.directory(path, stamp);
      else if (stamp.kind === 'link') yield* this.link(path, stamp);
      else yield* this.file(path, stamp);
    }
    const { special, closed, tooDeep, tooLarge } = this.found.skipped;
    const skipped = this.skipped + special + closed + tooDeep + tooLarge;
    yield { kind: 'end', entries: removed.length + this.found.changed.size, bytes: this.bytes, skipped };
  }

  private directory(path: string, stamp: Stamp): MirrorStep {
    this.set.set(path, { stamp, node: { kind: 'directory', mode: stamp.mode } });
    return { kind: 'directory', path, mode: stamp.mode };
  }

  private *link(path: string, stamp: Stamp): Generator<MirrorStep, void, undefined> {
    const target = this.local.linkTarget(path);
    if (target === undefined) {
      this.late.add(path);
      return;
    }
    this.set.set(path, { stamp, node: { kind: 'link', target } });
    yield { kind: 'link', path, target };
  }

  private async *file(path: string, stamp: Stamp): AsyncGenerator<MirrorStep, void, undefined> {
    const { mode, size } = stamp;
    const modifiedMs = modifiedMsOf(stamp);
    yield { kind: 'file', path, mode, size, modifiedMs };
    const sha256 = yield* readSteps(this.local, path, size);
    yield { kind: 'fileEnd', sha256: sha256 ?? null };
    if (sha256 === undefined) {
      this.skipped += 1;
      this.late.add(path);
      return;
    }
    this.bytes += size;
    const now = this.local.stamp(path);
    // What is closed to its owner was opened for a moment, which moves its ctime.
    const isClosed = (mode & OWNER_READ) === 0 && now !== undefined;
    const entry = isClosed ? { ...now, ctimeMs: stamp.ctimeMs } : now;
    const isSame = entry !== undefined && sameStamp(entry, stamp);
    const node = mirroredFile({ mode, size, modifiedMs }, sha256);
    this.set.set(path, { stamp: isSame && isClosed ? now : stamp, node });
    if (!isSame || (!isClosed && !isSettled(stamp, this.found.settledMs))) this.late.add(path);
  }
}

function* removalsOf(paths: readonly string[]): Generator<MirrorStep, void, undefined> {
  let batch: string[] = [];
  let characters = 0;
  for (const path of paths) {
    if (batch.length === MAX_REMOVED || characters + path.length > MAX_REMOVED_CHARACTERS) {
      yield { kind: 'remove', paths: batch };
      batch = [];
      characters = 0;
    }
    batch.push(path);
    characters += path.length;
  }
  if (batch.length > 0) yield { kind: 'remove', paths: batch };
}

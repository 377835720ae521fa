import { closeSync } from 'node:fs';
import {
  FILE_PARTS,
  type FileHead,
  type FilePart,
  type FileTree,
  type StoredFile,
  type ThreadKey,
  type TreeNode,
} from '@caribou/core';
import type { CopyEntry } from '../local/copy-index.js';
import { isClosed, type LocalTree } from '../local/local-tree.js';
import { isSettled } from '../local/file-times.js';
import { modifiedMsOf, sameStamp, type Stamp } from '../local/stamps.js';
import { readTrees } from '../store/object-tree-store.js';
import { mergeChanges } from '../tree/merge-tree.js';
import { NEW_DIRECTORY, parentOf, partOfPath, sameNode } from '../tree/tree-nodes.js';
import { sizeOf } from '../tree/tree-size.js';
import { localSource } from '../local/local-source.js';
import { contentsOfWrite } from './begun-writes.js';
import { contentsIn } from './known-contents.js';
import type { CopyParts } from './open-copy.js';
import type { FoundChanges, StoredChanges } from './publication.js';
import { sameTrees } from './refresh.js';

interface Candidate {
  readonly path: string;
  readonly stamp: Stamp;
}

/** Stores local changes, and makes the trees that have them. */
export class StoreChanges {
  /** Nodes of the local copy that are known now. */
  private readonly nodes = new Map<string, CopyEntry>();
  /** Paths that the next scan looks at again. */
  private readonly late = new Set<string>();
  private isPartial = false;

  constructor(
    private readonly parts: CopyParts,
    private readonly thread: ThreadKey,
    private readonly found: FoundChanges,
    private readonly local: LocalTree,
  ) {}

  async run(): Promise<StoredChanges | null> {
    const { head } = this.found;
    const trees = await readTrees(this.parts.store, this.thread.userId, head?.trees ?? {});
    const stored = await this.findNodes(trees);
    const merged = FILE_PARTS.map((part, at) => this.merge(part, trees[at] ?? new Map<string, TreeNode>()));
    const changed = merged.reduce((count, { differences }) => count + differences, 0);
    if (changed === 0) {
      await stored();
      if (head !== null) this.record(head);
      return null;
    }
    // The trees name contents that may still be on their way: nothing names the trees before the commit.
    const writes = merged.map(({ tree }, at) => this.write(tree, head?.trees[FILE_PARTS[at] ?? 'work']));
    const [[work, uploads]] = await Promise.all([Promise.all(writes), stored()]);
    return {
      trees: { ...(work === undefined ? {} : { work }), ...(uploads === undefined ? {} : { uploads }) },
      ...sizeOf(merged.map(({ tree }) => tree)),
      changed,
      isPartial: this.isPartial,
      record: (committed) => this.record(committed),
    };
  }

  /** A path that a refresh was changing is no local change. */
  private isOwn(path: string): boolean {
    return !this.found.target.index.underWay.has(path);
  }

  /** Reads what has changed. The result waits until its contents are stored. */
  private async findNodes(trees: readonly FileTree[]): Promise<() => Promise<void>> {
    const candidates: Candidate[] = [];
    for (const [path, stamp] of this.found.changes.changed) {
      if (!this.isOwn(path)) continue;
      if (stamp.kind === 'directory') this.nodes.set(path, { stamp, node: { kind: 'directory', mode: stamp.mode } });
      else if (stamp.kind === 'link') this.findLink(path, stamp);
      else if (isClosedFile(this.local, path)) this.found.changes.skipped.closed += 1;
      else candidates.push({ path, stamp });
    }
    const begun = await this.addBegun(candidates.filter((candidate) => !this.addStored(candidate)));
    const { unknown } = begun;
    const sources = unknown.map(({ path, stamp }) => localSource(this.local, path, stamp.size));
    const find = contentsIn(trees, unknown);
    const { files, stored } = await this.parts.store.begin(this.thread.userId, sources, find);
    unknown.forEach((candidate, at) => this.addFile(candidate, files[at] ?? null));
    return async () => {
      await Promise.all([stored(), begun.stored()]);
      unknown.forEach((candidate, at) => this.noteStored(candidate, files[at] ?? null));
    };
  }

  /** Whether an earlier attempt has stored the file. */
  private addStored(candidate: Candidate): boolean {
    const before = this.found.stored.get(candidate.path);
    if (before === undefined || !sameStamp(before.stamp, candidate.stamp)) return false;
    this.addFile(candidate, before.stored);
    return true;
  }

  /** Adds files whose contents are on their way to the store; the others remain. */
  private async addBegun(candidates: readonly Candidate[]) {
    const unknown: Candidate[] = [];
    const waits: (() => Promise<void>)[] = [];
    for (const candidate of candidates) {
      const write = this.found.begun.get(candidate.path);
      const { settledMs } = this.found.changes;
      const contents = write && (await contentsOfWrite(this.local, { ...candidate, settledMs }, write));
      if (contents === undefined) {
        unknown.push(candidate);
        continue;
      }
      this.addFile(candidate, contents.file);
      waits.push(async () => {
        const [isSame] = await Promise.all([contents.isSame(), contents.stored()]);
        if (!isSame) this.miss(candidate.path);
        else this.noteStored(candidate, contents.file);
      });
    }
    return { unknown, stored: () => Promise.all(waits.map((wait) => wait())) };
  }

  private findLink(path: string, stamp: Stamp): void {
    const target = this.local.linkTarget(path);
    if (target === undefined) this.miss(path);
    else this.nodes.set(path, { stamp, node: { kind: 'link', target } });
  }

  private addFile({ path, stamp }: Candidate, stored: StoredFile | null): void {
    const now = this.local.stamp(path);
    if (stored === null || now?.kind !== 'file' || now.ino !== stamp.ino) {
      this.miss(path);
      return;
    }
    const { sha256, content } = stored;
    const { mode, size } = stamp;
    this.nodes.set(path, {
      stamp,
      node: { kind: 'file', mode, size, modifiedMs: modifiedMsOf(stamp), sha256, content },
    });
    // What changed within a tick of the clock of its last change may have changed again under the same stamp.
    if (!sameStamp(now, stamp) || !isSettled(stamp, this.found.changes.settledMs)) this.late.add(path);
  }

  /** For a later attempt of the same publication. */
  private noteStored({ path, stamp }: Candidate, stored: StoredFile | null): void {
    if (stored !== null) this.found.stored.set(path, { stamp, stored });
  }

  /** A file that changed while it was read is stored the next time. */
  private miss(path: string): void {
    this.late.add(path);
    this.isPartial = true;
  }

  private merge(part: FilePart, tree: FileTree): { readonly tree: FileTree; readonly differences: number } {
    const set = new Map<string, TreeNode>();
    for (const [path, { node }] of this.nodes) {
      if (partOfPath(path) === part && !sameNode(tree.get(path), node) && !isPlainRoot(path, node, tree))
        set.set(path, node);
    }
    const removed = new Set<string>();
    for (const path of this.found.changes.removed) {
      if (this.isOwn(path) && partOfPath(path) === part && tree.has(path)) removed.add(path);
    }
    if (set.size === 0 && removed.size === 0) return { tree, differences: 0 };
    const merged = mergeChanges(tree, { set, removed });
    return { tree: hasOnlyRoots(merged) ? new Map() : merged, differences: set.size + removed.size };
  }

  private async write(tree: FileTree, base: string | undefined): Promise<string | undefined> {
    return this.parts.store.write(this.thread.userId, tree, base);
  }

  private record(head: FileHead): void {
    const { changes, target, head: from } = this.found;
    // Others may have added to the index since the scan.
    const { state, dirty, underWay } = this.parts.indexes.load(this.thread) ?? target.index;
    const wasEqual =
      from === null ? state.trees === null || sameTrees(state.trees, {}) : sameTrees(state.trees, from.trees);
    const trees = wasEqual && underWay.size === 0 ? head.trees : null;
    const stillDirty = [...dirty].filter((path) => !changes.resolved.has(path) && !this.nodes.has(path));
    this.parts.indexes.append(this.thread, {
      state: {
        home: head.home,
        generation: head.generation,
        trees,
        clockMs: changes.isComplete ? changes.clockMs : state.clockMs,
      },
      set: new Map([...changes.settled, ...this.nodes]),
      removed: [...changes.removed].filter((path) => this.isOwn(path)),
      dirty: new Set([...stillDirty, ...this.late]),
    });
  }
}

/** Whether this process may not read a file. Root may read all, which need not be asked for each. */
function isClosedFile(local: LocalTree, path: string): boolean {
  if (process.getuid?.() === 0) return false;
  try {
    const descriptor = local.openFile(path);
    if (descriptor !== undefined) closeSync(descriptor);
    return false;
  } catch (error) {
    if (isClosed(error)) return true;
    throw error;
  }
}

/** A data directory as it was made, of which the tree has nothing. */
const isPlainRoot = (path: string, node: TreeNode, tree: FileTree): boolean =>
  parentOf(path) === undefined && sameNode(node, NEW_DIRECTORY) && !tree.has(path);

/** Whether a tree says nothing but that data directories are as they were made. */
function hasOnlyRoots(tree: FileTree): boolean {
  if (tree.size > 2) return false;
  for (const [path, node] of tree) if (parentOf(path) !== undefined || !sameNode(node, NEW_DIRECTORY)) return false;
  return true;
}

import { closeSync } from 'node:fs';
import {
  FILE_PARTS,
  type FileHead,
  type FileNode,
  type FilePart,
  type FileTree,
  type StoredFile,
  type ThreadKey,
  type TreeNode,
} from '@caribou/core';
import type { CopyEntry } from '../local/copy-index.js';
import { isClosed, type LocalTree } from '../local/local-tree.js';
import { isSettled } from '../local/scan.js';
import { modifiedMsOf, sameStamp, type Stamp } from '../local/stamps.js';
import { readTrees } from '../store/object-tree-store.js';
import { mergeChanges } from '../tree/merge-tree.js';
import { NEW_DIRECTORY, parentOf, partOfPath, sameNode, sizeOf } from '../tree/tree-nodes.js';
import { localHash, localSource } from '../local/local-source.js';
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
    await this.findNodes(trees);
    const merged = FILE_PARTS.map((part, at) => this.merge(part, trees[at] ?? new Map<string, TreeNode>()));
    const changed = merged.reduce((count, { differences }) => count + differences, 0);
    if (changed === 0) {
      if (head !== null) this.record(head);
      return null;
    }
    const keys = await Promise.all(
      merged.map(({ tree }, at) => this.write(tree, head?.trees[FILE_PARTS[at] ?? 'work'])),
    );
    const [work, uploads] = keys;
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

  private async findNodes(trees: readonly FileTree[]): Promise<void> {
    const candidates: Candidate[] = [];
    for (const [path, stamp] of this.found.changes.changed) {
      if (!this.isOwn(path)) continue;
      if (stamp.kind === 'directory') this.nodes.set(path, { stamp, node: { kind: 'directory', mode: stamp.mode } });
      else if (stamp.kind === 'link') this.findLink(path, stamp);
      else if (isClosedFile(this.local, path)) this.found.changes.skipped.closed += 1;
      else candidates.push({ path, stamp });
    }
    const unknown = await this.findKnownContents(candidates, trees);
    const sources = unknown.map(({ path, stamp }) => localSource(this.local, path, stamp.size));
    const results = await this.parts.store.store(this.thread.userId, sources);
    unknown.forEach((candidate, at) => this.addFile(candidate, results[at] ?? null));
  }

  private findLink(path: string, stamp: Stamp): void {
    const target = this.local.linkTarget(path);
    if (target === undefined) this.miss(path);
    else this.nodes.set(path, { stamp, node: { kind: 'link', target } });
  }

  /** Files whose bytes the head has already, under any path, or that an earlier attempt has stored; the others are returned. */
  private async findKnownContents(candidates: readonly Candidate[], trees: readonly FileTree[]): Promise<Candidate[]> {
    const bySize = candidates.length === 0 ? new Map<number, FileNode[]>() : filesBySize(candidates, trees);
    const unknown: Candidate[] = [];
    for (const candidate of candidates) {
      const { path, stamp } = candidate;
      const before = this.found.stored.get(path);
      const alike = bySize.get(stamp.size) ?? [];
      const sha256 = alike.length === 0 ? undefined : await localHash(this.local, path, stamp.size);
      const known = alike.find((file) => file.sha256 === sha256);
      if (known !== undefined) this.addFile(candidate, known);
      else if (before !== undefined && sameStamp(before.stamp, stamp)) this.addFile(candidate, before.stored);
      else unknown.push(candidate);
    }
    return unknown;
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
    this.found.stored.set(path, { stamp, stored: { sha256, content } });
    // What changed within a tick of the clock of its last change may have changed again under the same stamp.
    if (!sameStamp(now, stamp) || !isSettled(stamp, this.found.changes.clockMs)) this.late.add(path);
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

/** Files of the trees with the size of a candidate, by size. */
function filesBySize(candidates: readonly Candidate[], trees: readonly FileTree[]): Map<number, FileNode[]> {
  const found = new Map<number, FileNode[]>(candidates.map(({ stamp }) => [stamp.size, []]));
  for (const tree of trees) {
    for (const node of tree.values()) if (node.kind === 'file') found.get(node.size)?.push(node);
  }
  return found;
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

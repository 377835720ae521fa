import type { FileTrees, TreeNode } from '@caribou/core';
import type { Stamp } from './stamps.js';

/** A path of the local copy: with this stamp it is this node. */
export interface CopyEntry {
  readonly node: TreeNode;
  readonly stamp: Stamp;
}

export interface CopyState {
  /**
   * Home of the files that are copied. Before the thread had a head: NO_HOME when the copy was made then, null when there were
   * files already, from before there was an object store.
   */
  readonly home: string | null;
  /** The newest generation that this copy has taken part in: its local changes are those since then. */
  readonly generation: number;
  /** The trees that the entries equal, all of them; null when there are differences that only a comparison finds. */
  readonly trees: FileTrees | null;
  /** Everything that changed before this time is in the entries; by the clock of the file system, in milliseconds. */
  readonly clockMs: number;
}

/** What is known of a local copy. */
export interface CopyIndex {
  state: CopyState;
  readonly entries: Map<string, CopyEntry>;
  /** Paths that are looked at by the next scan whatever their stamps are: they may have changed without a trace. */
  readonly dirty: Set<string>;
  /** Paths that a refresh was changing: after a crash their content is that of one head or the other, and never a local change. */
  readonly underWay: Set<string>;
}

export interface IndexChange {
  readonly state?: CopyState;
  readonly set?: ReadonlyMap<string, CopyEntry>;
  readonly removed?: Iterable<string>;
  /** Replaces the former ones. */
  readonly dirty?: ReadonlySet<string>;
  /** Replaces the former ones. */
  readonly underWay?: ReadonlySet<string>;
}

/** The home of a copy that was made while the thread had no files. */
export const NO_HOME = '';

/** Whether the copy is of other files than those of the head. */
export const isOfOtherFiles = ({ home }: CopyState, head: { readonly home: string } | null): boolean =>
  home !== null && home !== NO_HOME && home !== head?.home;

export const newIndex = (): CopyIndex => ({
  state: { home: null, generation: 0, trees: null, clockMs: 0 },
  entries: new Map(),
  dirty: new Set(),
  underWay: new Set(),
});

export function applyChange(index: CopyIndex, { state, set, removed, dirty, underWay }: IndexChange): void {
  if (state !== undefined) index.state = state;
  for (const path of removed ?? []) index.entries.delete(path);
  for (const [path, entry] of set ?? []) index.entries.set(path, entry);
  if (dirty !== undefined) replaceAll(index.dirty, dirty);
  if (underWay !== undefined) replaceAll(index.underWay, underWay);
}

function replaceAll(target: Set<string>, paths: ReadonlySet<string>): void {
  if (target === paths) return;
  const next = [...paths];
  target.clear();
  for (const path of next) target.add(path);
}

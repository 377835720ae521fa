import type { DirectoryNode, FileNode, FileTree, LinkNode, TreeNode } from '@caribou/core';
import type { CopyEntry, CopyIndex } from '../local/copy-index.js';
import type { LocalChanges } from '../local/scan.js';
import type { Stamp } from '../local/stamps.js';
import { depthOf, parentOf, sameBytes, sameNode } from '../tree/tree-nodes.js';

type Placed<Node> = readonly [path: string, node: Node];

/** What makes a local copy equal to the trees of a head. */
export interface RefreshPlan {
  /** Entries to be removed, what is below a directory before it. */
  readonly removals: Placed<Stamp['kind']>[];
  /** Directories to be made or given another mode, parents first. */
  readonly directories: Placed<DirectoryNode>[];
  readonly links: Placed<LinkNode>[];
  /** Files whose bytes are needed. */
  readonly fetched: Placed<FileNode>[];
  /** Files that may have the right bytes: their checksum decides. */
  readonly compared: Placed<FileNode>[];
  /** Files with the right bytes but another mode or time. */
  readonly touched: Placed<FileNode>[];
  /** Paths of local changes that are kept. */
  readonly kept: Set<string>;
}

export interface RefreshState {
  readonly trees: readonly FileTree[];
  readonly index: CopyIndex;
  readonly changes: LocalChanges;
  /** Whether local changes that are not published are kept; else the head replaces them. */
  readonly keepsLocal: boolean;
}

export function planRefresh(state: RefreshState): RefreshPlan {
  const plan: RefreshPlan = {
    removals: [],
    directories: [],
    links: [],
    fetched: [],
    compared: [],
    touched: [],
    kept: keptOf(state),
  };
  for (const tree of state.trees) for (const [path, node] of tree) addNode(plan, state, path, node);
  addRemovals(plan, state);
  addParents(plan, state);
  plan.directories.sort(([left], [right]) => depthOf(left) - depthOf(right));
  plan.removals.sort(([left], [right]) => depthOf(right) - depthOf(left));
  return plan;
}

/** All paths that the plan changes. */
export const pathsOf = (plan: RefreshPlan): string[] =>
  [plan.removals, plan.directories, plan.links, plan.fetched, plan.compared, plan.touched].flatMap((list) =>
    list.map(([path]) => path),
  );

function keptOf({ index, changes, keepsLocal }: RefreshState): Set<string> {
  if (!keepsLocal) return new Set();
  const local = [...changes.changed.keys(), ...changes.removed];
  return new Set(local.filter((path) => !index.underWay.has(path)));
}

function addNode(plan: RefreshPlan, state: RefreshState, path: string, node: TreeNode): void {
  if (plan.kept.has(path)) return;
  const known = knownAt(state, path);
  if (known !== undefined && sameNode(known.node, node)) return;
  const there = state.changes.changed.get(path) ?? state.index.entries.get(path)?.stamp;
  if (there !== undefined && isInTheWay(there, node)) plan.removals.push([path, there.kind]);
  if (node.kind === 'directory') plan.directories.push([path, node]);
  else if (node.kind === 'link') plan.links.push([path, node]);
  else listFor(plan, node, { known: known?.node, there }).push([path, node]);
}

/** Whether no rename puts the node in place of what is there. */
const isInTheWay = ({ kind }: Stamp, node: TreeNode): boolean =>
  kind !== node.kind && (kind === 'directory' || node.kind === 'directory');

/** The entry that a path is sure to be. */
function knownAt({ index, changes }: RefreshState, path: string): CopyEntry | undefined {
  const isSure = !changes.changed.has(path) && !changes.removed.has(path) && !index.underWay.has(path);
  return isSure ? index.entries.get(path) : undefined;
}

/** How a file gets to be the node: it may have its bytes already. */
function listFor(
  { fetched, compared, touched }: RefreshPlan,
  node: FileNode,
  { known, there }: { readonly known: TreeNode | undefined; readonly there: Stamp | undefined },
): Placed<FileNode>[] {
  if (there?.kind !== 'file' || there.size !== node.size) return fetched;
  if (known === undefined) return compared;
  return known.kind === 'file' && sameBytes(known, node) ? touched : fetched;
}

function addRemovals(plan: RefreshPlan, { trees, index, changes, keepsLocal }: RefreshState): void {
  const isWanted = (path: string): boolean => trees.some((tree) => tree.has(path));
  for (const [path, { stamp }] of index.entries) {
    if (!plan.kept.has(path) && !isWanted(path) && !changes.changed.has(path)) plan.removals.push([path, stamp.kind]);
  }
  for (const [path, stamp] of changes.changed) {
    const isUnderWay = index.underWay.has(path);
    if ((!keepsLocal || isUnderWay) && !isWanted(path)) plan.removals.push([path, stamp.kind]);
  }
}

/** Directories that were removed here while others have put something into them are made again. */
function addParents(plan: RefreshPlan, { trees, changes }: RefreshState): void {
  for (const [path] of [...plan.directories, ...plan.links, ...plan.fetched]) {
    for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
      if (!changes.removed.has(above) || !plan.kept.delete(above)) continue;
      const node = trees.map((tree) => tree.get(above)).find((found) => found !== undefined);
      if (node?.kind === 'directory') plan.directories.push([above, node]);
    }
  }
}

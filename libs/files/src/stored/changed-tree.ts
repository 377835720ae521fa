import { ConflictError } from '@caribou/contracts';
import {
  type DataDirectory,
  type FileCommit,
  type FileGenerations,
  type FileHead,
  type FilePart,
  type FileTree,
  parseVirtualPath,
  type ThreadKey,
  type TreeNode,
  type TreeStore,
} from '@caribou/core';
import { FileRefusedError } from '../file-refused.js';
import { readTrees } from '../plane/store/object-tree-store.js';
import { toTreeText } from '../plane/tree/tree-nodes.js';
import { sizeOf, type TreeSize } from '../plane/tree/tree-size.js';

export interface TreeParts {
  readonly trees: TreeStore;
  readonly generations: FileGenerations;
}

export interface TreeChange {
  readonly part: FilePart;
  /** The tree with the change; null when there is nothing to change. */
  readonly change: (tree: FileTree) => FileTree | null;
  /** Throws when the thread may not become so large. */
  readonly check?: (size: TreeSize) => void;
  /** The files that are meant (`FileHead.home`): those of a later thread with the same id are not changed. */
  readonly home?: string;
}

/** The path in a tree of a virtual path. @throws {FileRefusedError} for one outside of the data directories */
export function treePathOf(path: string): string {
  const parsed = parseVirtualPath(path);
  if (parsed === null) throw new FileRefusedError('outside', path);
  return [parsed.directory, ...parsed.segments].map(toTreeText).join('/');
}

/** The data directory that a virtual path is in. @throws {FileRefusedError} for one outside of them */
export function directoryOf(path: string): DataDirectory {
  const parsed = parseVirtualPath(path);
  if (parsed === null) throw new FileRefusedError('outside', path);
  return parsed.directory;
}

/** What a tree has under a virtual path. */
export const findNode = (tree: FileTree, path: string): TreeNode | undefined => tree.get(treePathOf(path));

const NO_FILES: FileTree = new Map();
/** Commits of others that a change gives way to. Each of them means that somebody made progress. */
const MAX_ATTEMPTS = 16;

/**
 * Changes a tree of a thread's head and commits it, on the newest head when others commit meanwhile. Null without a change.
 *
 * @throws {ConflictError} when the thread was or is being deleted, or when others commit all the time
 * @throws {UnavailableError}
 */
export async function changeTree(parts: TreeParts, thread: ThreadKey, change: TreeChange): Promise<FileHead | null> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const head = await parts.generations.head(thread);
    if (change.home !== undefined && head?.home !== change.home)
      throw new ConflictError('the thread was deleted meanwhile', { details: { threadId: thread.threadId } });
    const commit = await commitOf(parts, thread, { head, change });
    if (commit === null) return null;
    const reply = await parts.generations.commit(thread, commit);
    if (reply.committed) return reply.head;
  }
  throw new ConflictError(`the files of the thread were changed by others ${MAX_ATTEMPTS} times meanwhile; try again`, {
    details: { threadId: thread.threadId },
  });
}

/** Stores the changed tree; null when there is nothing to change. */
async function commitOf(
  { trees }: TreeParts,
  { userId }: ThreadKey,
  { head, change: { part, change, check } }: { readonly head: FileHead | null; readonly change: TreeChange },
): Promise<FileCommit | null> {
  const former = head?.trees ?? {};
  const [work = NO_FILES, uploads = NO_FILES] = await readTrees(trees, userId, former);
  const present = { work, uploads };
  const changed = change(present[part]);
  if (changed === null) return null;
  const size = sizeOf(Object.values({ ...present, [part]: changed }));
  check?.(size);
  const key = await trees.write(userId, changed, former[part]);
  const { [part]: _replaced, ...others } = former;
  return { expected: head, trees: key === undefined ? others : { ...others, [part]: key }, ...size };
}

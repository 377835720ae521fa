import {
  type DataDirectory,
  type FileNode,
  type FileTree,
  parseVirtualPath,
  type StoredFile,
  type TreeNode,
} from '@caribou/core';
import { FileRefusedError } from '../../file-refused.js';
import { FILE_MODE } from '../../thread-path.js';
import type { FileList } from '../../uploads/directory-files.js';
import { type FileEntry, isPartName } from '../../uploads/upload-intake.js';
import { OverlayTree, withNode } from './overlay-tree.js';
import { fromTreeText, NEW_DIRECTORY, requireNodeLimit, toTreeText } from './tree-nodes.js';

/** A file to be put into a tree. */
export interface NewFile extends StoredFile {
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedMs: number;
}

/** The regular files of a data directory by name, at most `maxFiles`, as lists show them. */
function listTree(tree: FileTree, directory: DataDirectory, maxFiles: number): FileList {
  const prefix = `${directory}/`;
  const found: FileEntry[] = [];
  for (const [path, node] of tree) {
    if (node.kind !== 'file' || !path.startsWith(prefix) || path.includes('/', prefix.length)) continue;
    const name = fromTreeText(path.slice(prefix.length));
    if (!isPartName(name)) found.push({ name, sizeBytes: node.size, modifiedMs: node.modifiedMs });
  }
  found.sort((left, right) => (left.name < right.name ? -1 : 1));
  return { files: found.slice(0, maxFiles), truncated: found.length > maxFiles };
}

/** The file under a virtual path. Links are refused, as by all readers. @throws {FileRefusedError} */
function lookupFile(tree: FileTree, path: string): FileNode {
  const { parents, target } = pathsOf(path);
  for (const parent of parents) requireDirectory(tree.get(parent), path);
  const node = tree.get(target);
  if (node === undefined) throw new FileRefusedError('not_found', path);
  return requireFile(node, path);
}

/**
 * The tree with a file, in place of one that is there, whose permissions it gets. Makes the directories above it.
 *
 * @throws {FileRefusedError} when the path, or one above it, is anything else
 * @throws {TooLargeError} for more files than a thread may have
 */
function setFile(tree: FileTree, path: string, { sha256, content, size, modifiedMs }: NewFile): FileTree {
  const { parents, target } = pathsOf(path);
  const set = new Map<string, TreeNode>();
  for (const parent of parents) {
    const node = tree.get(parent);
    if (node === undefined) set.set(parent, NEW_DIRECTORY);
    else requireDirectory(node, path);
  }
  const present = tree.get(target);
  const mode = present === undefined ? FILE_MODE : requireFile(present, path).mode;
  set.set(target, { kind: 'file', mode, size, modifiedMs, sha256, content });
  requireNodeLimit(tree.size + set.size - (present === undefined ? 0 : 1));
  return OverlayTree.of(tree, { set, removed: new Set() });
}

/** As `setFile`, for a file that still has the expected content; undefined when it has another. @throws {FileRefusedError} */
function replaceFile(
  tree: FileTree,
  path: string,
  file: NewFile & { readonly expectedSha256: string },
): FileTree | undefined {
  const { sha256 } = lookupFile(tree, path);
  return sha256 === file.expectedSha256.toLowerCase() ? setFile(tree, path, file) : undefined;
}

/** The tree without a file. Directories above it stay. @throws {FileRefusedError} when the path names no file */
function removeFile(tree: FileTree, path: string): FileTree {
  lookupFile(tree, path);
  return withNode(tree, pathsOf(path).target, undefined);
}

/** Paths of the tree: of the directories above, the highest first, and of the last name. @throws {FileRefusedError} */
function pathsOf(path: string): { readonly parents: readonly string[]; readonly target: string } {
  const parsed = parseVirtualPath(path);
  if (parsed === null) throw new FileRefusedError('outside', path);
  if (parsed.segments.length === 0) throw new FileRefusedError('is_directory', path);
  const names = [parsed.directory, ...parsed.segments].map(toTreeText);
  const parents = names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join('/'));
  return { parents, target: names.join('/') };
}

function requireDirectory(node: TreeNode | undefined, path: string): void {
  if (node === undefined) throw new FileRefusedError('not_found', path);
  if (node.kind !== 'directory') throw new FileRefusedError('not_regular', path);
}

function requireFile(node: TreeNode, path: string): FileNode {
  if (node.kind === 'file') return node;
  throw new FileRefusedError(node.kind === 'directory' ? 'is_directory' : 'not_regular', path);
}

/** Files of a tree by virtual path, for a process that has no local copy. Changes give a new tree. */
export const treeFiles = {
  list: listTree,
  lookup: lookupFile,
  setFile,
  replace: replaceFile,
  removeFile,
};

import { TooLargeError } from '@caribou/contracts';
import {
  DATA_DIRECTORIES,
  type DirectoryNode,
  type FileNode,
  type FilePart,
  filePartOf,
  parseVirtualPath,
  type TreeNode,
} from '@caribou/core';

/** The most nodes that a tree may have. */
export const MAX_NODES = 200_000;
/** Longest path of a tree (Linux PATH_MAX). */
export const MAX_PATH_BYTES = 4_096;
/** Mode of a directory that is made because something lies below it. */
export const NEW_DIRECTORY: DirectoryNode = { kind: 'directory', mode: 0o755 };
/** setuid, setgid and sticky are dropped. */
export const PERMISSION_BITS = 0o777;

/** The path of the directory above; undefined for a data directory. */
export function parentOf(path: string): string | undefined {
  const at = path.lastIndexOf('/');
  return at < 0 ? undefined : path.slice(0, at);
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Number of names in a path. */
export function depthOf(path: string): number {
  let depth = 1;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) depth += 1;
  return depth;
}

/** Text as it is in a tree: each byte of its UTF-8 form a character. */
export const toTreeText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** The path of a tree for a virtual path; undefined for one that is in no data directory. */
export function treePathOf(virtualPath: string): string | undefined {
  const parsed = parseVirtualPath(virtualPath);
  return parsed === null ? undefined : [parsed.directory, ...parsed.segments].map(toTreeText).join('/');
}

/** A name of a tree for people; bytes that are not UTF-8 are replaced. */
export const fromTreeText = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

/** The part that a path of a tree belongs to. @throws {Error} for a path that begins with no data directory */
export function partOfPath(path: string): FilePart {
  const end = path.indexOf('/');
  const first = end < 0 ? path : path.slice(0, end);
  const directory = DATA_DIRECTORIES.find((name) => name === first);
  if (directory === undefined) throw new Error('a path of a tree begins with a data directory');
  return filePartOf(directory);
}

/** Whether two files have the same bytes, wherever these are stored. */
export const sameBytes = (left: FileNode, right: FileNode): boolean =>
  left.size === right.size && left.sha256 === right.sha256;

/** Whether two nodes look the same in a directory: kind, bytes, mode and time of modification. */
export function sameNode(left: TreeNode | undefined, right: TreeNode | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  if (left.kind === 'link') return right.kind === 'link' && left.target === right.target;
  if (left.kind === 'directory') return right.kind === 'directory' && left.mode === right.mode;
  return (
    right.kind === 'file' && left.mode === right.mode && left.modifiedMs === right.modifiedMs && sameBytes(left, right)
  );
}

/** @throws {TooLargeError} */
export function requireNodeLimit(nodes: number): void {
  if (nodes <= MAX_NODES) return;
  throw new TooLargeError(
    `a thread may have at most ${MAX_NODES} files and directories in workspace and outputs, and as many in uploads`,
    { details: { limit: MAX_NODES, nodes } },
  );
}

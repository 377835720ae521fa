import { createReadStream } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConflictError } from '@caribou/contracts';
import type { FileNode, FileSource, FileTree, TreeNode, TreeStore } from '@caribou/core';
import { FileRefusedError } from '../file-refused.js';
import type { WantedFile } from '../plane/copies/fetch-files.js';
import { damaged } from '../plane/store/stored-damage.js';
import {
  fromTreeText,
  NEW_DIRECTORY,
  PERMISSION_BITS,
  requireNodeLimit,
  toTreeText,
} from '../plane/tree/tree-nodes.js';

/** The file that makes a directory a skill. */
const SKILL_FILE = 'SKILL.md';
const WHAT = 'a skill';

export interface StoredSkill {
  /** Key of the manifest. */
  readonly manifest: string;
  /** Bytes of all files. */
  readonly bytes: number;
}

interface LocalFile {
  /** Path in the tree. */
  readonly path: string;
  readonly mode: number;
  readonly modifiedMs: number;
  readonly source: FileSource;
}

/**
 * Stores all files of a skill's directory. Nothing refers to them yet. Paths of the tree are relative to the directory.
 *
 * @throws {FileRefusedError} for anything but regular files and directories
 * @throws {ConflictError} when a file changes meanwhile, or the directory has no SKILL.md
 * @throws {UnavailableError}
 */
export async function storeSkill(
  trees: Pick<TreeStore, 'store' | 'write'>,
  userId: string,
  directory: string,
): Promise<StoredSkill> {
  const tree = new Map<string, TreeNode>();
  const files: LocalFile[] = [];
  await collect(directory, '', { tree, files });
  const stored = await trees.store(
    userId,
    files.map(({ source }) => source),
  );
  let bytes = 0;
  for (const [at, { path, mode, modifiedMs, source }] of files.entries()) {
    const content = stored[at];
    if (content === null || content === undefined)
      throw new ConflictError('a file of the skill was changed while it was stored');
    bytes += source.size;
    tree.set(path, { kind: 'file', mode, modifiedMs, size: source.size, ...content });
  }
  const manifest = tree.get(SKILL_FILE)?.kind === 'file' ? await trees.write(userId, tree) : undefined;
  if (manifest === undefined) throw new ConflictError(`the skill has no ${SKILL_FILE}`);
  return { manifest, bytes };
}

async function collect(
  directory: string,
  prefix: string,
  found: { readonly tree: Map<string, TreeNode>; readonly files: LocalFile[] },
): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const host = join(directory, entry.name);
    const path = `${prefix}${toTreeText(entry.name)}`;
    requireNodeLimit(found.tree.size + found.files.length + 1);
    if (entry.isDirectory()) {
      found.tree.set(path, NEW_DIRECTORY);
      await collect(host, `${path}/`, found);
    } else if (entry.isFile()) {
      const { size, mode, mtimeMs } = await lstat(host);
      const source = { size, open: () => createReadStream(host) };
      found.files.push({ path, mode: mode & PERMISSION_BITS, modifiedMs: Math.floor(mtimeMs), source });
    } else {
      throw new FileRefusedError('not_regular', entry.name);
    }
  }
}

/**
 * The files of a stored skill.
 *
 * @param expected the manifest that the skill's record names, and the bytes that its files must have
 * @throws {UnavailableError} when the tree is none of a skill, or of another size: its objects were damaged
 */
export function filesOfSkill(tree: FileTree, expected: StoredSkill): readonly WantedFile[] {
  const files: WantedFile[] = [];
  let bytes = 0;
  for (const [path, node] of tree) {
    if (node.kind === 'link' || !segmentsOf(path).every(isPlainName)) throw damaged(WHAT, expected.manifest, 'altered');
    if (node.kind === 'directory') continue;
    bytes += node.size;
    files.push([path, node]);
  }
  const isWhole = bytes === expected.bytes && tree.get(SKILL_FILE)?.kind === 'file';
  if (!isWhole) throw damaged(WHAT, expected.manifest, 'altered');
  return files;
}

/** The names of a path of the tree. */
export const segmentsOf = (path: string): readonly string[] => fromTreeText(path).split('/');

const isPlainName = (name: string): boolean => !['', '.', '..'].includes(name) && !name.includes('\0');

const RUNNABLE = 0o100;

export const isProgram = ({ mode }: FileNode): boolean => (mode & RUNNABLE) !== 0;

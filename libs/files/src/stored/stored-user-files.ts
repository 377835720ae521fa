import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { type DataDirectory, filePartOf, type FileTree, type ThreadKey, VIRTUAL_ROOT } from '@caribou/core';
import { sha256Of } from '../file-hash.js';
import { FileRefusedError, QuotaExceededError } from '../file-refused.js';
import { treeFiles } from '../plane/tree/tree-files.js';
import type { TreeSize } from '../plane/tree/tree-size.js';
import { type QuotaLimits, quotaExcess } from '../quota/workspace-quota.js';
import type { TextReplacement } from '../text/replace-text.js';
import { readUpTo } from '../open-file.js';
import type { FileEntry } from '../uploads/upload-intake.js';
import type { UserFiles } from '../uploads/user-files.js';
import { changeTree, directoryOf, findNode, type TreeParts } from './changed-tree.js';
import { type SettledParts, settledHead } from './settled-head.js';
import { Spool } from './spooled-file.js';
import { openStoredIntake, type StoredIntakeParts } from './stored-intake.js';
import { storedOpenFile } from './stored-open-file.js';

export interface StoredUserFilesOptions extends TreeParts {
  readonly askToPublish: SettledParts['askToPublish'];
  readonly limits: Pick<QuotaLimits, 'workspaceBytes' | 'workspaceFiles'>;
  /** CARIBOU_HOME of this machine, for files that are being received. */
  readonly homeDir: string;
}

/** Operations of users on files in an object store: no path of a thread is opened on this machine. */
export function storedUserFiles(options: StoredUserFilesOptions): UserFiles {
  const { trees, generations, limits } = options;
  const requireRoom = (path: string, size: TreeSize): void => {
    const excess = quotaExcess(size, limits);
    if (excess !== null) throw new QuotaExceededError(path, excess);
  };
  const parts: StoredIntakeParts = { trees, generations, spool: new Spool(options.homeDir), requireRoom };
  const treeOf = async (thread: ThreadKey, directory: DataDirectory): Promise<FileTree> => {
    const head = await settledHead(options, thread);
    return trees.read(thread.userId, head?.trees ?? {}, filePartOf(directory));
  };
  const open: UserFiles['open'] = async (thread, path) =>
    storedOpenFile(trees, treeFiles.lookup(await treeOf(thread, directoryOf(path)), path));

  return {
    openIntake: async (thread, intakeOptions) => {
      await parts.spool.removeStale();
      return openStoredIntake(parts, thread, intakeOptions);
    },
    list: async (thread, directory, maxFiles) => treeFiles.list(await treeOf(thread, directory), directory, maxFiles),
    copyAll: null,
    settle: async (thread) => {
      await settledHead(options, thread);
    },
    open,
    replaceText: (thread, path, replacement) => replaceStoredText({ ...parts, open }, { thread, path }, replacement),
    remove: async (thread, path) => {
      await settledHead(options, thread);
      await changeTree(parts, thread, {
        part: filePartOf(directoryOf(path)),
        change: (tree) => treeFiles.removeFile(tree, path),
      });
    },
    removeUnchanged: (thread, directory, entry) => removeIfSame(parts, { thread, directory }, entry),
  };
}

async function removeIfSame(
  parts: TreeParts,
  { thread, directory }: { readonly thread: ThreadKey; readonly directory: DataDirectory },
  { name, sizeBytes, modifiedMs }: FileEntry,
): Promise<boolean> {
  const path = `${VIRTUAL_ROOT}/${directory}/${name}`;
  const change = (tree: FileTree): FileTree | null => {
    const node = findNode(tree, path);
    const isSame = node?.kind === 'file' && node.size === sizeBytes && node.modifiedMs === modifiedMs;
    return isSame ? treeFiles.removeFile(tree, path) : null;
  };
  return (await changeTree(parts, thread, { part: filePartOf(directory), change })) !== null;
}

/** As `replaceText` of files on a disk; check and replacement are one step here. */
async function replaceStoredText(
  { open, ...parts }: StoredIntakeParts & Pick<UserFiles, 'open'>,
  { thread, path }: { readonly thread: ThreadKey; readonly path: string },
  { content, expectedSha256, maxBytes }: TextReplacement,
): Promise<boolean> {
  if (content.byteLength > maxBytes) throw new FileRefusedError('too_large', path);
  const known = await readUpTo(await open(thread, path), maxBytes);
  if (known === null) throw new FileRefusedError('too_large', path);
  if (!isUtf8(known) || known.includes(0)) throw new FileRefusedError('binary', path);
  if (sha256Of(known) !== expectedSha256.toLowerCase()) return false;
  const source = { size: content.byteLength, open: () => Readable.from([content]) };
  const [stored] = await parts.trees.store(thread.userId, [source]);
  if (stored === null || stored === undefined) return false;
  const file = { ...stored, size: content.byteLength, modifiedMs: Date.now(), expectedSha256 };
  const replaced = await changeTree(parts, thread, {
    part: filePartOf(directoryOf(path)),
    change: (tree) => treeFiles.replace(tree, path, file) ?? null,
    check: (size) => parts.requireRoom(path, size),
  });
  return replaced !== null;
}

import { ConflictError, NotFoundError } from '@caribou/contracts';
import {
  FILE_PARTS,
  type FileHead,
  type FileNode,
  type FilePart,
  filePartOf,
  type FileTree,
  type FileTrees,
  type OpenFile,
  type ThreadKey,
  type TreeNode,
  VIRTUAL_ROOT,
} from '@caribou/core';
import { QuotaExceededError } from '../file-refused.js';
import { readTrees } from '../plane/store/object-tree-store.js';
import { withNode } from '../plane/tree/overlay-tree.js';
import { treeFiles } from '../plane/tree/tree-files.js';
import { fromTreeText, nameOf } from '../plane/tree/tree-nodes.js';
import type { TreeSize } from '../plane/tree/tree-size.js';
import { type QuotaLimits, quotaExcess } from '../quota/workspace-quota.js';
import { isPartName } from '../uploads/upload-intake.js';
import { changeTree, directoryOf, type TreeParts, treePathOf } from './changed-tree.js';
import { compareTrees, type TreeComparison } from './compare-trees.js';
import { type SettledParts, settledHead } from './settled-head.js';
import { storedOpenFile } from './stored-open-file.js';

/** A regular file of a thread. */
export interface StoredFileEntry {
  /** Virtual path; bytes that are not UTF-8 are replaced. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
  readonly modifiedMs: number;
}

export interface FilePage {
  /** By path. */
  readonly files: readonly StoredFileEntry[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

export interface FilePageQuery {
  readonly checkpointId?: string;
  /** Virtual path of a directory; absent: all files. */
  readonly directory?: string;
  /** The `next` of the page before. */
  readonly after?: string;
  readonly limit: number;
}

export interface FileHistoryOptions extends TreeParts, SettledParts {
  readonly generations: TreeParts['generations'];
  readonly limits: Pick<QuotaLimits, 'workspaceBytes' | 'workspaceFiles'>;
}

export interface ComparedPoints {
  readonly from: FileTrees;
  readonly to: FileTrees;
  /** Default: all. */
  readonly parts?: readonly FilePart[];
}

/** A page's cursor: the path of its last file as it is in the tree. */
const cursorOf = (path: string): string => Buffer.from(path, 'latin1').toString('base64url');
const pathOfCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString('latin1');

/**
 * The files of threads in an object store at their checkpoints. That a thread or a checkpoint exists is for the caller to check.
 */
export class FileHistory {
  constructor(private readonly options: FileHistoryOptions) {}

  /** The manifests of now, or of a checkpoint. @throws {UnavailableError} @throws {ConflictError} when those of then are not known */
  async treesAt(thread: ThreadKey, checkpointId?: string): Promise<FileTrees> {
    if (checkpointId === undefined) return (await settledHead(this.options, thread))?.trees ?? {};
    const { generations } = this.options;
    let files = await generations.atCheckpoint(thread, checkpointId);
    if (typeof files === 'object' && files.isPartial === true) {
      await settledHead(this.options, thread);
      files = await generations.atCheckpoint(thread, checkpointId);
    }
    if (files === 'unknown') throw notRecorded(checkpointId);
    return files === 'none' ? {} : files.trees;
  }

  /** Whether the checkpoint has a generation, so that it exists. */
  async hasGeneration(thread: ThreadKey, checkpointId: string): Promise<boolean> {
    return typeof (await this.options.generations.atCheckpoint(thread, checkpointId)) === 'object';
  }

  /** Whether it is known which files the thread had at the checkpoint. */
  async isRecorded(thread: ThreadKey, checkpointId: string): Promise<boolean> {
    return (await this.options.generations.atCheckpoint(thread, checkpointId)) !== 'unknown';
  }

  /** @throws {FileRefusedError} when `directory` is outside of the thread's files @throws {ConflictError} as `treesAt` */
  async list(thread: ThreadKey, { checkpointId, directory, after, limit }: FilePageQuery): Promise<FilePage> {
    const below = directory === undefined ? undefined : treePathOf(directory);
    const trees = await readTrees(this.options.trees, thread.userId, await this.treesAt(thread, checkpointId));
    const behind = after === undefined ? '' : pathOfCursor(after);
    const found: [string, FileNode][] = [];
    for (const tree of trees) {
      for (const [path, node] of tree) {
        const isListed = path > behind && (below === undefined || path.startsWith(`${below}/`));
        if (isListed && node.kind === 'file' && !isPartName(nameOf(path))) found.push([path, node]);
      }
    }
    found.sort(([left], [right]) => (left < right ? -1 : 1));
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      files: page.map(([path, node]) => entryOf(path, node)),
      next: found.length > page.length && last !== undefined ? cursorOf(last[0]) : null,
    };
  }

  /** @throws {FileRefusedError} @throws {ConflictError} as `treesAt` */
  async open(thread: ThreadKey, path: string, checkpointId?: string): Promise<OpenFile> {
    return storedOpenFile(this.options.trees, await this.nodeAt(thread, path, checkpointId));
  }

  /** What differs between two points, of the parts that are asked for. */
  async compare({ userId }: ThreadKey, { from, to, parts = FILE_PARTS }: ComparedPoints): Promise<TreeComparison> {
    const { trees } = this.options;
    const pairs: (readonly [FileTree, FileTree])[] = [];
    for (const part of parts) pairs.push([await trees.read(userId, from, part), await trees.read(userId, to, part)]);
    return compareTrees(trees, pairs);
  }

  /**
   * Commits a file of a checkpoint as the newest.
   *
   * @throws {FileRefusedError} when the checkpoint has no such file, or something else has its path now
   * @throws {ConflictError} @throws {UnavailableError}
   */
  async restoreFile(thread: ThreadKey, path: string, checkpointId: string): Promise<FileHead> {
    const node = await this.nodeAt(thread, path, checkpointId);
    const restored: TreeNode = { ...node, modifiedMs: Date.now() };
    await settledHead(this.options, thread);
    const head = await changeTree(this.options, thread, {
      part: filePartOf(directoryOf(path)),
      change: (tree) => withNode(treeFiles.setFile(tree, path, restored), treePathOf(path), restored),
      check: (size) => this.requireRoom(path, size),
    });
    if (head === null) throw new ConflictError('the file was changed by others meanwhile; try again');
    return head;
  }

  /**
   * Makes the files of a checkpoint the newest; uploads stay.
   *
   * @throws {NotFoundError} for a thread without files
   * @throws {ConflictError} while a run is in flight, or when it is not known which files there were
   */
  async restoreAll(thread: ThreadKey, checkpointId: string): Promise<FileHead> {
    await settledHead(this.options, thread);
    if (!(await this.isRecorded(thread, checkpointId))) throw notRecorded(checkpointId);
    const head = await this.options.generations.restore(thread, checkpointId);
    if (head === null) throw new NotFoundError('the thread has no files', { details: { threadId: thread.threadId } });
    return head;
  }

  private async nodeAt(thread: ThreadKey, path: string, checkpointId?: string): Promise<FileNode> {
    const part = filePartOf(directoryOf(path));
    const tree = await this.options.trees.read(thread.userId, await this.treesAt(thread, checkpointId), part);
    return treeFiles.lookup(tree, path);
  }

  private requireRoom(path: string, size: TreeSize): void {
    const excess = quotaExcess(size, this.options.limits);
    if (excess !== null) throw new QuotaExceededError(path, excess);
  }
}

/** The error for a checkpoint whose files were not noted. */
const notRecorded = (checkpointId: string): ConflictError =>
  new ConflictError(
    `the files at checkpoint_id ${checkpointId} are not known: they were not recorded when it was written`,
    {
      details: { checkpointId },
    },
  );

const entryOf = (path: string, { size, sha256, modifiedMs }: FileNode): StoredFileEntry => ({
  path: `${VIRTUAL_ROOT}/${fromTreeText(path)}`,
  size,
  sha256,
  modifiedMs,
});

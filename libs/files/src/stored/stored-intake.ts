import { ConflictError } from '@caribou/contracts';
import { type FileHead, type FileTree, type StoredFile, type ThreadKey, VIRTUAL_ROOT } from '@caribou/core';
import { FileRefusedError } from '../file-refused.js';
import type { TreeSize } from '../plane/tree/tree-size.js';
import { treeFiles } from '../plane/tree/tree-files.js';
import type { FileEntry, IntakeOptions, StagedFile, UploadIntake } from '../uploads/upload-intake.js';
import { changeTree, findNode, type TreeParts } from './changed-tree.js';
import type { Spool, SpooledFile } from './spooled-file.js';

export interface StoredIntakeParts extends TreeParts {
  readonly spool: Spool;
  /** Throws when a thread may not become so large. */
  readonly requireRoom: (path: string, size: TreeSize) => void;
}

const UPLOADS = `${VIRTUAL_ROOT}/uploads`;

/** An intake into the uploads of a thread in the object store. */
export async function openStoredIntake(
  parts: StoredIntakeParts,
  thread: ThreadKey,
  { makes = true }: IntakeOptions = {},
): Promise<UploadIntake> {
  const before = await filesOf(parts, thread, makes);
  const { home } = before;
  const received = new Set<SpooledFile>();
  let receivedBytes = 0;
  /** As on a disk, what was received counts in addition to files that it will replace. */
  const requireRoom = (): void =>
    parts.requireRoom('uploads', { bytes: before.bytes + receivedBytes, files: before.files + received.size });
  const commit = async (file: Staged, name: string, isNew: boolean): Promise<FileEntry | null> => {
    const head = await publish(parts, thread, { file, name, isNew, home });
    return head === null ? null : { name, sizeBytes: file.spooled.size, modifiedMs: file.modifiedMs };
  };
  return {
    receive: async (source, maxBytes) => {
      requireRoom();
      const spooled = await parts.spool.receive(source, maxBytes);
      received.add(spooled);
      receivedBytes += spooled.size;
      requireRoom();
      return stagedFile(new Staged(parts, thread, spooled), commit);
    },
    isCurrent: async () => (await parts.generations.head(thread))?.home === home,
    close: async () => {
      for (const spooled of received) await spooled.remove();
    },
  };
}

/** The thread's files, which are made when there are none: what is received for a thread belongs to these, and to no later ones. */
async function filesOf({ generations }: TreeParts, thread: ThreadKey, makes: boolean): Promise<FileHead> {
  const present = await generations.head(thread);
  if (present !== null) return present;
  if (!makes) throw new FileRefusedError('not_found', 'uploads');
  const { head } = await generations.commit(thread, { expected: null, trees: {}, bytes: 0, files: 0 });
  if (head === null)
    throw new ConflictError('the thread was deleted meanwhile', { details: { threadId: thread.threadId } });
  return head;
}

/** A received file; it is put into the object store once, whatever names are tried for it. */
class Staged {
  readonly modifiedMs = Date.now();
  private storing: Promise<StoredFile> | undefined;

  constructor(
    private readonly parts: StoredIntakeParts,
    private readonly thread: ThreadKey,
    readonly spooled: SpooledFile,
  ) {}

  store(): Promise<StoredFile> {
    this.storing ??= this.storeNow();
    return this.storing;
  }

  private async storeNow(): Promise<StoredFile> {
    const [stored] = await this.parts.trees.store(this.thread.userId, [this.spooled]);
    if (stored === null || stored === undefined)
      throw new ConflictError('the received file was changed before it was stored');
    return stored;
  }
}

const stagedFile = (
  file: Staged,
  commit: (file: Staged, name: string, isNew: boolean) => Promise<FileEntry | null>,
): StagedFile => ({
  sizeBytes: file.spooled.size,
  modifiedMs: file.modifiedMs,
  publish: async (name) => {
    const entry = await commit(file, name, false);
    if (entry === null) throw new FileRefusedError('permission', name);
    return entry;
  },
  publishNew: (name) => commit(file, name, true),
});

interface Publication {
  readonly file: Staged;
  readonly name: string;
  /** Leave what has the name already. */
  readonly isNew: boolean;
  /** The files that it belongs to (`FileHead.home`). */
  readonly home: string;
}

async function publish(
  parts: StoredIntakeParts,
  thread: ThreadKey,
  { file, name, isNew, home }: Publication,
): Promise<FileHead | null> {
  const stored = await file.store();
  const path = `${UPLOADS}/${name}`;
  const { modifiedMs, spooled } = file;
  const change = (tree: FileTree): FileTree | null => {
    if (isNew && findNode(tree, path) !== undefined) return null;
    return treeFiles.setFile(tree, path, { ...stored, size: spooled.size, modifiedMs });
  };
  return changeTree(parts, thread, { part: 'uploads', change, home, check: (size) => parts.requireRoom(path, size) });
}

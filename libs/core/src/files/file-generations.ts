import type { FilePart } from './file-tree.js';
import type { ThreadKey } from '../util/thread-key.js';

/** The trees of a thread's files: keys of manifests in the object store. A part without files has none. */
export type FileTrees = Readonly<Partial<Record<FilePart, string>>>;

/** The files of a thread at one point. */
export interface FileGeneration {
  /** Rises with each change, from 1. */
  readonly generation: number;
  readonly trees: FileTrees;
}

export interface FileHead extends FileGeneration {
  /** Identifies this thread's files: a later thread with the same id has another one. */
  readonly home: string;
  /** Both trees together, when they were last committed: a return to an earlier point does not change these counts. */
  readonly bytes: number;
  readonly files: number;
  /**
   * The newest generation that replaced `work` by that of an earlier point. What a working copy of an older generation has
   * beyond it is dropped, not merged.
   */
  readonly resetAt: number;
  /**
   * The newest generation with which a machine took the files over from another one. What a working copy of an older generation has
   * beyond it is dropped: nobody has seen it since, or it was given up.
   */
  readonly takenAt: number;
  /** The machine whose manager committed last, which has most of the files; absent when only people did. */
  readonly machine?: string;
  /** The manager that holds changes which are not stored yet, since when (milliseconds since the epoch, by Redis' clock). */
  readonly unpublished?: UnpublishedFiles;
  /**
   * Since when changes are lost, of a machine from which the files were taken over before it had stored them; absent once the result of
   * a command has said so (`forgetLoss`). Milliseconds since the epoch.
   */
  readonly lostSinceMs?: number;
}

export interface UnpublishedFiles {
  readonly managerId: string;
  readonly machine: string;
  readonly sinceMs: number;
}

/** Who may commit: a manager only while the thread's sandbox is bound to it; undefined is a person, through a gateway. */
export interface FileWriter {
  readonly managerId: string;
  /** Identifies the machine; a word for `FileHead.unpublished`. */
  readonly machine: string;
}

export interface FileCommit {
  /** The head that the new trees are made from; null for none. */
  readonly expected: Pick<FileHead, 'home' | 'generation'> | null;
  readonly trees: FileTrees;
  readonly bytes: number;
  readonly files: number;
  readonly writer?: FileWriter;
  /** Changes remain that this commit does not contain. */
  readonly isPartial?: boolean;
  /** The machine takes the files over from another one, whose changes that are not stored are lost then (`FileHead.takenAt`, `lostSinceMs`). */
  readonly takesOver?: boolean;
  /**
   * The files are older than this record of them: the thread's checkpoints until now have no generation although there were
   * files. Only for the first commit.
   */
  readonly isImport?: boolean;
}

/**
 * The files of a thread at a checkpoint: the generation that it was written with; `none` when it is from before the first file;
 * `unknown` when it was written by a process that notes no generations, or when its files are older than their record.
 */
export type CheckpointFiles =
  | (FileGeneration & {
      /** A manager has changes of before the checkpoint that are not stored yet: when they are, the checkpoint has them. */
      readonly isPartial?: boolean;
    })
  | 'none'
  | 'unknown';

/** The generations of threads' files. Each method is one script or one read. */
export interface FileGenerations {
  /** Null for a thread without files. @throws {UnavailableError} */
  head(thread: ThreadKey): Promise<FileHead | null>;
  /**
   * Makes the trees the head. When the head is another one than expected, nothing is written and the reply has it.
   *
   * @throws {FencedError} when the sandbox of the thread is bound to another manager
   * @throws {ConflictError} while the thread is being deleted
   */
  commit(thread: ThreadKey, commit: FileCommit): Promise<FileCommitReply>;
  /**
   * Records that changes of this manager are not stored yet; keeps the time of an earlier call. A thread without files gets a first
   * generation without any.
   *
   * @throws {FencedError} when the sandbox of the thread is bound to another manager
   * @throws {ConflictError} while the thread is being deleted
   */
  noteUnpublished(thread: ThreadKey, writer: FileWriter): Promise<void>;
  /** Threads with changes that the machine has not stored, and maybe some without; at most a hundred, by time. */
  unpublishedOf(machine: string): Promise<readonly ThreadKey[]>;
  /** Takes a thread out of that list, unless the machine still has such changes. */
  forgetUnpublished(thread: ThreadKey, machine: string): Promise<void>;
  /** Records that a result has said since when changes are lost; does nothing when the thread is bound to another manager. */
  forgetLoss(thread: ThreadKey, shown: { readonly managerId: string; readonly lostSinceMs: number }): Promise<void>;
  /** What is known of the files that the thread had at one of its checkpoints. */
  atCheckpoint(thread: ThreadKey, checkpointId: string): Promise<CheckpointFiles>;
  /**
   * Makes the files of an earlier point the head; uploads stay. Null for a thread without files.
   *
   * @throws {ConflictError} while the thread has a run in flight
   */
  restore(thread: ThreadKey, checkpointId: string): Promise<FileHead | null>;
  /** All manifests that the thread's head, its checkpoints and the rollback of its run need; generations that none of them names are dropped. */
  retained(thread: ThreadKey): Promise<readonly string[]>;
  /** Ids of the user's threads that have files, at most a thousand after the first `skip`, by their first commit. */
  threadsWithFiles(userId: string, skip: number): Promise<readonly string[]>;
}

export interface FileCommitReply {
  readonly committed: boolean;
  /** The head afterwards. */
  readonly head: FileHead | null;
}

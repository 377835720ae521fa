import type { FileHead, FileTrees, StoredFile } from '@caribou/core';
import type { LocalChanges, ScanTarget } from '../local/scan.js';
import type { Stamp } from '../local/stamps.js';
import type { SkippedEntries } from '../local/tree-walk.js';
import type { BegunWritesOfThread } from './begun-writes.js';

export interface PublishOptions {
  /** The head that the new trees are made from. */
  readonly head: FileHead | null;
  /** Virtual paths that may have changed; absent for all. Those outside the data directories are ignored. */
  readonly paths?: readonly string[];
  /** A plan whose commit met another head: contents that it has stored are not stored again. */
  readonly earlier?: PublishPlan;
}

/** Local changes that were found, and are not stored yet. */
export interface PublishPlan {
  /** Bytes of the files that may have to be stored. */
  readonly bytes: number;
  /** Entries that may have changed or are gone. */
  readonly entries: number;
  readonly skipped: Readonly<SkippedEntries>;
  readonly stored: StoredBefore;
  /**
   * Stores contents and trees. Null when everything is as in the head after all.
   *
   * @throws {UnavailableError} @throws {TooLargeError}
   */
  store(): Promise<StoredChanges | null>;
}

/** Trees that are stored, to be committed. */
export interface StoredChanges {
  readonly trees: FileTrees;
  /** Of both trees, as in FileHead. */
  readonly bytes: number;
  readonly files: number;
  /** Paths that differ from the head that the trees were made from. */
  readonly changed: number;
  /** Whether files were left out, as they changed while they were read. */
  readonly isPartial: boolean;
  /** Notes that the local copy has these changes in common with the head that was made of them. */
  record(head: FileHead): void;
}

export interface FoundChanges {
  readonly head: FileHead | null;
  readonly target: ScanTarget;
  readonly changes: LocalChanges;
  /** Files whose contents are on their way to the store since before they were written. */
  readonly begun: BegunWritesOfThread;
  readonly stored: StoredBefore;
}

/** Contents that were stored for files with these stamps, by path. */
export type StoredBefore = Map<string, { readonly stamp: Stamp; readonly stored: StoredFile }>;

import type { ThreadKey } from '../util/thread-key.js';

/**
 * Port to the records of uploaded files and their conversion to Markdown, shared by all processes.
 *
 * Invariants of every implementation (times are the store's clock):
 *  - Each call is one atomic step.
 *  - A conversion that is `pending` is held by at most one token; only its holder may change or settle it.
 *  - `begin` and `forget` take it away from its holder.
 * Every method throws UnavailableError when the store does not answer in time.
 */

/** Size and time of a file when it was examined. */
export interface FileVersion {
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

export interface Companion extends FileVersion {
  readonly name: string;
}

export type ConversionRecord =
  | {
      readonly status: 'pending';
      readonly source: FileVersion;
      /** Number of attempts so far. */
      readonly attempts: number;
      /** Recorded before it is published: a file that matches it exactly was created by this conversion. */
      readonly companion?: Companion;
    }
  | { readonly status: 'done'; readonly source: FileVersion; readonly companion: Companion }
  | { readonly status: 'failed'; readonly source: FileVersion; readonly reason: string };

export type PendingConversion = Extract<ConversionRecord, { readonly status: 'pending' }>;
export type SettledConversion = Exclude<ConversionRecord, PendingConversion>;

/** A file in the uploads of a thread. */
export interface UploadKey extends ThreadKey {
  readonly filename: string;
}

/** The lease on a conversion, for `leaseMs` from each call that names it. */
export interface ConversionLease {
  /** Unique to one attempt. */
  readonly token: string;
  readonly leaseMs: number;
}

export interface UploadsSince {
  readonly names: readonly string[];
  readonly newest: number;
}

export interface ConversionStore {
  /** Enters a conversion in place of an earlier one of the same file. */
  begin(file: UploadKey, record: PendingConversion, lease: ConversionLease): Promise<void>;
  /** Takes over a pending conversion whose lease expired; null when there is none. */
  takeOver(file: UploadKey, lease: ConversionLease): Promise<PendingConversion | null>;
  /** Prolongs the lease and replaces the record if one is given; false when it is lost. `leaseMs` 0 releases it. */
  renew(file: UploadKey, lease: ConversionLease, record?: PendingConversion): Promise<boolean>;
  /** Ends a conversion; false when its lease is lost, and nothing is written. */
  settle(file: UploadKey, token: string, record: SettledConversion): Promise<boolean>;
  /** The records of files, by name. */
  read(thread: ThreadKey, filenames: readonly string[]): Promise<ReadonlyMap<string, ConversionRecord>>;
  /** Deletes a file's record and returns it; null when there was none. */
  forget(file: UploadKey): Promise<ConversionRecord | null>;
  /** Assigns the next numbers of their thread to uploaded files, in this order. */
  recordUploads(thread: ThreadKey, filenames: readonly string[]): Promise<void>;
  /** Deletes the records of uploads to a thread that was deleted meanwhile. */
  withdrawUploads(thread: ThreadKey, filenames: readonly string[]): Promise<void>;
  /** The number of the newest upload of a thread, 0 when there was none. */
  newestUpload(thread: ThreadKey): Promise<number>;
  /**
   * Lists the files that were uploaded after `number` and not removed since, oldest first, and the newest number.
   *
   * @param newest the number of the newest upload, where the caller reads it already
   */
  uploadsSince(thread: ThreadKey, number: number, newest?: Promise<number>): Promise<UploadsSince>;
}

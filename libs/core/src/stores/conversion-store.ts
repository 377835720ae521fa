import type { ThreadKey } from '../util/thread-key.js';

/**
 * Port to what is known of uploaded files and of their conversion to Markdown, shared by all processes.
 *
 * Invariants every implementation keeps (times are the store's clock):
 *  - Each call is one atomic step.
 *  - A conversion that is `pending` is held by at most one token; only its holder may change or settle it.
 *  - Whoever begins anew, or forgets, takes it away from its holder.
 * Every method throws UnavailableError when the store does not answer in time.
 */

/** A file as it was when it was looked at. */
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
      /** How often a conversion was begun. */
      readonly attempts: number;
      /** Written down before it is published: a file that is exactly this is ours. */
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

/** The right to carry a conversion out, for `leaseMs` from each call that names it. */
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
  /** Takes a pending conversion over whose lease ran out; null when there is none. */
  takeOver(file: UploadKey, lease: ConversionLease): Promise<PendingConversion | null>;
  /** Prolongs the lease, with another record if one is given; false when it is lost. `leaseMs` 0 gives it up. */
  renew(file: UploadKey, lease: ConversionLease, record?: PendingConversion): Promise<boolean>;
  /** Ends a conversion; false when its lease is lost, and nothing is written. */
  settle(file: UploadKey, token: string, record: SettledConversion): Promise<boolean>;
  /** What is known of files, by name. */
  read(thread: ThreadKey, filenames: readonly string[]): Promise<ReadonlyMap<string, ConversionRecord>>;
  /** Drops what is known of a file and returns it; null when it was nothing. */
  forget(file: UploadKey): Promise<ConversionRecord | null>;
  /** Gives uploaded files the next numbers of their thread, in this order. */
  recordUploads(thread: ThreadKey, filenames: readonly string[]): Promise<void>;
  /** Drops what was noted and begun of uploads to a thread that was deleted meanwhile. */
  withdrawUploads(thread: ThreadKey, filenames: readonly string[]): Promise<void>;
  /** The files that were uploaded after `number` and not removed since, oldest first, and the newest number given. */
  uploadsSince(thread: ThreadKey, number: number): Promise<UploadsSince>;
}

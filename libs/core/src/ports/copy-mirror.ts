import type { ThreadKey } from '../util/thread-key.js';
import type { SkillsMount } from './sandbox-mounts.js';

/**
 * A step of a change of files, in order: removals first, directories before what is in them, an entry of kind `file` followed by its
 * bytes and `fileEnd`. Paths are those of trees (latin1, `workspace/src/main.c`).
 */
export type MirrorStep =
  | { readonly kind: 'remove'; readonly paths: readonly string[] }
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly mode: number;
      /** Bytes. */
      readonly size: number;
      /** Milliseconds since the epoch. */
      readonly modifiedMs: number;
    }
  | { readonly kind: 'data'; readonly bytes: Uint8Array }
  | { readonly kind: 'zeros'; readonly length: number }
  /** Null: the file could not be read to its end, and what came of it is dropped. */
  | { readonly kind: 'fileEnd'; readonly sha256: string | null }
  | { readonly kind: 'end'; readonly entries: number; readonly bytes: number; readonly skipped: number };

export interface MirrorCounts {
  /** Entries that were written or removed. */
  readonly entries: number;
  readonly bytes: number;
  /** Entries that the sender left out. */
  readonly skipped: number;
}

/** One side of an exchange of files between a copy and a sandbox elsewhere. Calls never overlap. */
export interface CopyMirror {
  /**
   * What has changed in the copy since the last exchange. The other side has it once it has applied all steps; `onSent` must be called
   * then, else the next call sends the same again.
   *
   * @throws {TooLargeError} for more entries than a tree may have
   */
  changes(): AsyncIterable<MirrorStep>;
  /** The other side has applied everything that the last `changes` gave. */
  onSent(): void;
  /**
   * Applies what the other side has sent; an exchange that breaks off is completed by the next one.
   *
   * @throws {TooLargeError} when there are more entries or bytes than a thread may have
   * @throws {InvalidRequestError} for steps that no sender makes
   */
  receive(steps: AsyncIterable<MirrorStep>): Promise<MirrorCounts>;
  /** The other side has nothing now: the next `changes` are the whole copy. */
  reset(): void;
  /** Removes what the exchange has beside the copy. */
  close(): Promise<void>;
}

/** How a driver whose sandboxes have files of their own exchanges them with this machine's copies. */
export interface CopyMirrors {
  /** @throws {UnavailableError} when the copy cannot be opened */
  open(thread: ThreadKey): Promise<CopyMirror>;
  /** The files of a user's skills, below `skills`. */
  skills(mount: SkillsMount): AsyncIterable<MirrorStep>;
}

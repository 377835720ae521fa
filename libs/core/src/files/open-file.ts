import type { Readable } from 'node:stream';
import type { ObjectRange } from '../ports/object-store.js';

/** A regular file that is open for reading; whoever opened it closes it. */
export interface OpenFile {
  /** Bytes when it was opened. A file that grows meanwhile is read up to here. */
  readonly size: number;
  readonly modifiedMs: number;
  /** Another one for each content that the file had; letters, digits and `-`. */
  readonly version: string;
  /** The bytes of a range that lies within the file. Reading them does not close it. */
  stream(range: ObjectRange): Readable;
  close(): Promise<void>;
}

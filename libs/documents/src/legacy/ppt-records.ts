import { InvalidRequestError, TooLargeError } from '@caribou/contracts';
import type { DocumentLimits } from '../limits.js';
import type { CompoundFile } from './compound-file.js';

/** Records of a PowerPoint file (MS-PPT), and which of them are valid after the file's last edit. */

const HEAD_BYTES = 8;
const CONTAINER = 0xf;
const USER_EDIT = 0x0ff5;
const PERSIST_DIRECTORY = 0x1772;
const ENCRYPTED_TOKEN = 0xf3d1c4df;
/** Longer edit records contain the encryption of the file. */
const PLAIN_EDIT_BYTES = 28;

type RecordLimits = Pick<DocumentLimits, 'maxElements' | 'maxDepth' | 'maxOutputBytes'>;

export interface PptRecord {
  readonly type: number;
  readonly instance: number;
  readonly isContainer: boolean;
  /** The content, cut at the end of its container. */
  readonly body: Buffer;
}

/**
 * Reads records and counts them and their text over the whole file, because a file may refer to the same slide or text
 * any number of times.
 */
export class RecordReader {
  #records = 0;
  #chars = 0;

  constructor(private readonly limits: RecordLimits) {}

  /** The consecutive records in `bytes`. @throws TooLargeError when too many were read */
  *each(bytes: Buffer): Generator<PptRecord> {
    for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
      const record = this.at(bytes, at);
      yield record;
      at += HEAD_BYTES + record.body.length;
    }
  }

  at(bytes: Buffer, at: number): PptRecord {
    if (++this.#records > this.limits.maxElements) {
      throw new TooLargeError(`the file has more than ${this.limits.maxElements} records`);
    }
    const kind = bytes.readUInt16LE(at);
    const length = bytes.readUInt32LE(at + 4);
    return {
      type: bytes.readUInt16LE(at + 2),
      instance: kind >> 4,
      isContainer: (kind & CONTAINER) === CONTAINER,
      body: bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length),
    };
  }

  /** The records of these types at any depth, without those nested in another match. @throws TooLargeError */
  *below(bytes: Buffer, types: readonly number[], depth = 0): Generator<PptRecord> {
    if (depth > this.limits.maxDepth) {
      throw new TooLargeError(`records are nested deeper than ${this.limits.maxDepth}`);
    }
    for (const record of this.each(bytes)) {
      if (types.includes(record.type)) yield record;
      else if (record.isContainer) yield* this.below(record.body, types, depth + 1);
    }
  }

  /** The first record of that type directly in `bytes`. */
  child(bytes: Buffer, type: number): PptRecord | undefined {
    for (const record of this.each(bytes)) if (record.type === type) return record;
    return undefined;
  }

  /** Counts text that is output. @throws TooLargeError */
  show(text: string): string {
    this.#chars += text.length;
    if (this.#chars > this.limits.maxOutputBytes) {
      throw new TooLargeError(`the slides hold more than ${this.limits.maxOutputBytes} characters`);
    }
    return text;
  }
}

export interface Presentation {
  readonly root: PptRecord;
  /** The record with that number after the last edit, if any. */
  findPersisted(number: number): PptRecord | undefined;
}

/** Records the position of each numbered record, unless a later edit defined it. */
function enterPositions(directory: Buffer, positions: Map<number, number>): void {
  for (let at = 0; at + 4 <= directory.length; ) {
    const head = directory.readUInt32LE(at);
    const [first, count] = [head & 0xfffff, head >>> 20];
    at += 4;
    for (let number = first; number < first + count && at + 4 <= directory.length; number++, at += 4) {
      if (!positions.has(number)) positions.set(number, directory.readUInt32LE(at));
    }
  }
}

/** Finds the valid records. @throws InvalidRequestError when it is encrypted, Error when it is broken */
export function presentation(file: CompoundFile, reader: RecordReader): Presentation {
  const document = file.stream('PowerPoint Document');
  const user = file.stream('Current User');
  if (user.readUInt32LE(12) === ENCRYPTED_TOKEN) throw new InvalidRequestError('the file is encrypted');
  const last = user.readUInt32LE(16);
  const positions = new Map<number, number>();
  let root: number | undefined;
  let before = Number.POSITIVE_INFINITY;
  for (let at = last; at !== 0 || root === undefined; ) {
    const { type, body } = reader.at(document, at);
    if (type !== USER_EDIT || at >= before) throw new Error('its list of edits is broken');
    if (body.length > PLAIN_EDIT_BYTES) throw new InvalidRequestError('the file is encrypted');
    const directory = reader.at(document, body.readUInt32LE(12));
    if (directory.type !== PERSIST_DIRECTORY) throw new Error('its list of records is broken');
    enterPositions(directory.body, positions);
    root ??= body.readUInt32LE(16);
    before = at;
    at = body.readUInt32LE(8);
  }
  const findPersisted = (number: number) => {
    const at = positions.get(number);
    return at === undefined ? undefined : reader.at(document, at);
  };
  const found = findPersisted(root);
  if (found === undefined) throw new Error('it has no document');
  return { root: found, findPersisted };
}

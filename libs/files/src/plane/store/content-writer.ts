import { createHash } from 'node:crypto';
import { Limiter, type FileSource, type ObjectStore, type StoredFile } from '@caribou/core';
import { BugError } from '@caribou/contracts';
import { sha256Of } from '../../file-hash.js';
import { inParallel } from '../in-parallel.js';
import { newBlobKey, newPackKey } from './object-keys.js';

export interface ContentOptions {
  /** Files of at least this size have an object of their own, in bytes. */
  readonly packedBelow: number;
  /** Size of an object with small files at most, in bytes. */
  readonly packBytes: number;
  /** Files up to this size are read once, into memory; larger ones twice, in a stream. In bytes. */
  readonly bufferedBytes: number;
  /** Objects that are sent at the same time. */
  readonly maxUploads: number;
}

interface Position {
  readonly index: number;
  readonly source: FileSource;
}

interface Piece {
  readonly index: number;
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** Sources that are read at the same time; each is smaller than a packed file. */
const MAX_READS = 8;

/**
 * Stores the contents of one call. At most `maxUploads` objects are in memory, in parts or whole, and one pack that is being
 * filled.
 */
export class ContentWriter {
  private readonly results: (StoredFile | null)[];
  private readonly uploads: Limiter;

  constructor(
    private readonly store: ObjectStore,
    private readonly userId: string,
    private readonly options: ContentOptions,
    private readonly sources: readonly FileSource[],
  ) {
    this.results = sources.map(() => null);
    this.uploads = new Limiter({
      maxRunning: options.maxUploads,
      maxWaiting: MAX_READS + options.maxUploads,
      errorWhenFull: () => new BugError('uploads are waited for before others begin'),
    });
  }

  /** One result for each source, in order; null for one that has changed. @throws {UnavailableError} */
  async write(): Promise<readonly (StoredFile | null)[]> {
    const all = this.sources.map((source, index): Position => ({ index, source }));
    const isSmall = ({ source }: Position): boolean => source.size < this.options.packedBelow;
    await this.writeSmall(all.filter(isSmall));
    await inParallel(
      all.filter((position) => !isSmall(position)),
      this.options.maxUploads,
      (position) => this.uploads.run(() => this.writeLarge(position)),
    );
    return this.results;
  }

  /** Packs are sent while the next one is filled; when as many as may be are under way, filling waits. */
  private async writeSmall(positions: readonly Position[]): Promise<void> {
    const sent: Promise<void>[] = [];
    const failures: unknown[] = [];
    const running = new Set<Promise<void>>();
    const send = async (pieces: readonly Piece[]): Promise<void> => {
      if (running.size >= this.options.maxUploads) await Promise.race(running);
      if (failures.length > 0) return;
      const upload = this.uploads
        .run(() => this.putPack(pieces))
        .catch((error: unknown) => {
          failures.push(error);
        })
        .finally(() => running.delete(upload));
      running.add(upload);
      sent.push(upload);
    };
    await this.fillPacks(positions, send, () => failures.length > 0);
    await Promise.all(sent);
    if (failures.length > 0) throw failures[0];
  }

  private async fillPacks(
    positions: readonly Position[],
    send: (pieces: readonly Piece[]) => Promise<void>,
    hasFailed: () => boolean,
  ): Promise<void> {
    let pieces: Piece[] = [];
    let length = 0;
    for (let at = 0; at < positions.length && !hasFailed(); at += MAX_READS) {
      const group = positions.slice(at, at + MAX_READS);
      for (const piece of await inParallel(group, MAX_READS, pieceOf)) {
        if (piece === null) continue;
        if (pieces.length > 0 && length + piece.bytes.byteLength > this.options.packBytes) {
          await send(pieces);
          pieces = [];
          length = 0;
        }
        pieces.push(piece);
        length += piece.bytes.byteLength;
      }
    }
    if (pieces.length > 0) await send(pieces);
  }

  private async putPack(pieces: readonly Piece[]): Promise<void> {
    const object = newPackKey(this.userId);
    const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
    await this.store.put(object, { size: bytes.byteLength, sha256: sha256Of(bytes), open: () => bytes });
    let offset = 0;
    for (const { index, sha256, bytes: piece } of pieces) {
      this.results[index] = { sha256, content: { object, offset } };
      offset += piece.byteLength;
    }
  }

  private async writeLarge({ index, source }: Position): Promise<void> {
    const bytes = source.size <= this.options.bufferedBytes ? await bytesOf(source) : undefined;
    if (bytes === null) return;
    const sha256 = bytes === undefined ? await hashOf(source) : sha256Of(bytes);
    if (sha256 === null) return;
    const object = newBlobKey(this.userId, sha256);
    const changes = new SourceCheck(source, sha256);
    try {
      await this.store.put(object, { size: source.size, sha256, open: () => bytes ?? changes.open() });
    } catch (error) {
      if (changes.hasChanged) return;
      throw error;
    }
    this.results[index] = { sha256, content: { object, offset: 0 } };
  }
}

/** Reads a source a second time, and says whether it then had other bytes. */
class SourceCheck {
  hasChanged = false;

  constructor(
    private readonly source: FileSource,
    private readonly sha256: string,
  ) {}

  /** The bytes of the source. @throws {Error} at the end, when they are not what they were */
  async *open(): AsyncGenerator<Uint8Array, void, undefined> {
    this.hasChanged = false;
    const hash = createHash('sha256');
    let left = this.source.size;
    for await (const chunk of this.source.open()) {
      left -= chunk.byteLength;
      hash.update(chunk);
      if (left < 0 || (left === 0 && hash.copy().digest('hex') !== this.sha256)) this.refuse();
      yield chunk;
    }
    if (left > 0) this.refuse();
  }

  private refuse(): never {
    this.hasChanged = true;
    throw new Error('the file has changed while it was read');
  }
}

async function pieceOf({ index, source }: Position): Promise<Piece | null> {
  const bytes = await bytesOf(source);
  return bytes && { index, bytes, sha256: sha256Of(bytes) };
}

/** The bytes of a source; null when they are fewer or more than it says. */
async function bytesOf({ size, open }: FileSource): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of open()) {
    length += chunk.byteLength;
    if (length > size) return null;
    chunks.push(chunk);
  }
  return length === size ? Buffer.concat(chunks) : null;
}

/** The checksum of a source; null when it has fewer or more bytes than it says. */
async function hashOf({ size, open }: FileSource): Promise<string | null> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of open()) {
    length += chunk.byteLength;
    if (length > size) return null;
    hash.update(chunk);
  }
  return length === size ? hash.digest('hex') : null;
}

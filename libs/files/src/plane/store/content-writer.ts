import { createHash } from 'node:crypto';
import type { BegunContents, FileSource, FindContent, ObjectBytes, ObjectStore, StoredFile } from '@caribou/core';
import { ConflictError, omitUndefined } from '@caribou/contracts';
import { sha256Aside, sha256Of } from '../../file-hash.js';
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

/** What is stored, for whom and where. */
export interface ContentWork {
  readonly store: ObjectStore;
  readonly userId: string;
  readonly sources: readonly FileSource[];
  readonly find: FindContent;
  /** Resolves when contents that fit into memory are needed. */
  readonly needed?: Promise<unknown> | undefined;
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

/** Checksums of fewer bytes are computed at once. */
const ASIDE_BYTES = 64 * 1024;

/** Sources that are read at the same time; each is smaller than a packed file. */
const MAX_READS = 8;

/**
 * Stores the contents of one call. At most `maxUploads` objects are being sent, and one more is in memory that is being read or
 * filled.
 */
export class ContentWriter {
  private readonly results: (StoredFile | null)[];
  private readonly running = new Set<Promise<void>>();
  private readonly failures: unknown[] = [];

  constructor(
    private readonly work: ContentWork,
    private readonly options: ContentOptions,
  ) {
    this.results = work.sources.map(() => null);
  }

  /**
   * Resolves when all sources are read, with one result for each, in order; null for one that has changed. The last objects may still
   * be on their way.
   */
  async begin(): Promise<BegunContents> {
    const { packedBelow, bufferedBytes, maxUploads } = this.options;
    const all = this.work.sources.map((source, index): Position => ({ index, source }));
    try {
      await this.fillPacks(all.filter(({ source }) => source.size < packedBelow));
      const large = all.filter(({ source }) => source.size >= packedBelow);
      for (const position of large) if (position.source.size <= bufferedBytes) await this.writeBuffered(position);
      const streamed = large.filter(({ source }) => source.size > bufferedBytes);
      if (streamed.length > 0) await this.finish();
      await inParallel(streamed, maxUploads, (position) => this.writeStreamed(position));
    } catch (error) {
      await Promise.all(this.running);
      throw error;
    }
    return { files: this.results, stored: () => this.finish() };
  }

  private async finish(): Promise<void> {
    await Promise.all(this.running);
    this.requireNoFailure();
  }

  private requireNoFailure(): void {
    if (this.failures.length > 0) throw this.failures[0];
  }

  /** Begins to send an object, as soon as no more than may be are under way. */
  private async send(key: string, { bytes, sha256 }: ObjectBytes): Promise<void> {
    if (this.running.size >= this.options.maxUploads) await Promise.race(this.running);
    this.requireNoFailure();
    const { needed } = this.work;
    const upload = this.work.store
      .put(key, { bytes, ...omitUndefined({ sha256, needed }) })
      .catch((error: unknown) => {
        this.failures.push(error);
      })
      .finally(() => this.running.delete(upload));
    this.running.add(upload);
  }

  private async fillPacks(positions: readonly Position[]): Promise<void> {
    let pieces: Piece[] = [];
    let length = 0;
    for (let at = 0; at < positions.length; at += MAX_READS) {
      const group = positions.slice(at, at + MAX_READS);
      for (const piece of await inParallel(group, MAX_READS, pieceOf)) {
        if (piece === null || this.isFound(piece.index, piece.sha256)) continue;
        if (pieces.length > 0 && length + piece.bytes.byteLength > this.options.packBytes) {
          await this.sendPack(pieces);
          pieces = [];
          length = 0;
        }
        pieces.push(piece);
        length += piece.bytes.byteLength;
      }
    }
    if (pieces.length > 0) await this.sendPack(pieces);
  }

  /** Whether the bytes of a source need not be stored. */
  private isFound(index: number, sha256: string): boolean {
    const content = this.work.find({ size: this.work.sources[index]?.size ?? 0, sha256 });
    if (content === undefined) return false;
    this.results[index] = { sha256, content };
    return true;
  }

  private async sendPack(pieces: readonly Piece[]): Promise<void> {
    const object = newPackKey(this.work.userId);
    let offset = 0;
    for (const { index, sha256, bytes } of pieces) {
      this.results[index] = { sha256, content: { object, offset } };
      offset += bytes.byteLength;
    }
    await this.send(object, { bytes: Buffer.concat(pieces.map((piece) => piece.bytes)) });
  }

  private async writeBuffered(position: Position): Promise<void> {
    const piece = await pieceOf(position);
    if (piece === null || this.isFound(piece.index, piece.sha256)) return;
    const { index, bytes, sha256 } = piece;
    const object = newBlobKey(this.work.userId, sha256);
    this.results[index] = { sha256, content: { object, offset: 0 } };
    await this.send(object, { bytes, sha256 });
  }

  private async writeStreamed({ index, source }: Position): Promise<void> {
    const sha256 = await hashOf(source);
    if (sha256 === null || this.isFound(index, sha256)) return;
    const object = newBlobKey(this.work.userId, sha256);
    try {
      await this.work.store.put(object, { size: source.size, sha256, open: source.open });
    } catch (error) {
      // The source had other bytes when the store read it.
      if (error instanceof ConflictError) return;
      throw error;
    }
    this.results[index] = { sha256, content: { object, offset: 0 } };
  }
}

async function pieceOf({ index, source }: Position): Promise<Piece | null> {
  const bytes = await bytesOf(source);
  if (bytes === null) return null;
  const isLarge = bytes.byteLength >= ASIDE_BYTES;
  return { index, bytes, sha256: isLarge ? await sha256Aside(bytes) : sha256Of(bytes) };
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
  if (length !== size) return null;
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined
    ? Buffer.from(first.buffer, first.byteOffset, size)
    : Buffer.concat(chunks);
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

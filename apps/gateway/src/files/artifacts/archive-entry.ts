import { AppError, BadRequestError, ForbiddenError, NotFoundError, TooLargeError } from '@caribou/contracts';
import type { OpenFile } from '@caribou/core';
import type { Entry, ZipFile } from 'yauzl';
import { openZip } from '@caribou/skills';

const MAX_ENTRIES = 5_000;
const MAX_ENTRY_BYTES = 16 * 1024 * 1024;
/** Maximum compression ratio; an entry above it is a decompression bomb, unless it is small. */
const MAX_RATIO = 200;
const RATIO_FROM_BYTES = 1024 * 1024;

const FILE_TYPE_MASK = 0o170000;
const LINK_TYPE = 0o120000;

export interface ArchivePath {
  readonly archive: string;
  /** Name of the entry. */
  readonly inner: string;
}

/** Splits `…/x.skill/SKILL.md`; null for a path that leads into no `.skill` archive. */
export function archivePath(path: string): ArchivePath | null {
  const [, archive, inner] = /^(.+?\.skill)\/(.+)$/i.exec(path) ?? [];
  return archive === undefined || inner === undefined ? null : { archive, inner };
}

const isLink = ({ externalFileAttributes }: Entry): boolean =>
  ((externalFileAttributes >>> 16) & FILE_TYPE_MASK) === LINK_TYPE;

/**
 * Refuses entries that must not be opened. Their sizes are those in the archive; reading stops when they prove wrong.
 */
function assertSafe(entry: Entry): Entry {
  const { compressedSize, uncompressedSize } = entry;
  if (entry.isEncrypted()) throw new BadRequestError('the entry is encrypted');
  if (isLink(entry)) throw new ForbiddenError('the entry is a link');
  if (uncompressedSize > MAX_ENTRY_BYTES) {
    throw new TooLargeError(`the entry is larger than ${MAX_ENTRY_BYTES} bytes`);
  }
  if (uncompressedSize > RATIO_FROM_BYTES && uncompressedSize > compressedSize * MAX_RATIO) {
    throw new TooLargeError('the entry is packed too tightly to be opened');
  }
  return entry;
}

/**
 * The entry with that name, or else the first whose path ends in it, since archives may have one folder around
 * everything.
 */
async function findEntry(zip: ZipFile, inner: string): Promise<Entry> {
  let exact: Entry | undefined;
  let ending: Entry | undefined;
  let count = 0;
  for await (const entry of zip.eachEntry()) {
    count += 1;
    if (count > MAX_ENTRIES) throw new TooLargeError(`the archive has more than ${MAX_ENTRIES} entries`);
    if (entry.fileName.endsWith('/')) continue;
    if (entry.fileName === inner) {
      if (exact !== undefined) throw new BadRequestError('the archive has this entry twice');
      exact = entry;
    }
    if (entry.fileName.endsWith(`/${inner}`)) ending ??= entry;
  }
  const found = exact ?? ending;
  if (found === undefined) throw new NotFoundError(`${inner} is not in the archive`);
  return assertSafe(found);
}

/**
 * Turns errors of the zip reader into BadRequestError; errors of this application and of the disk are thrown as they
 * are.
 */
async function mapArchiveErrors<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const fromDisk = typeof error === 'object' && error !== null && 'syscall' in error;
    if (error instanceof AppError || fromDisk) throw error;
    throw new BadRequestError('this is no archive that can be read', { cause: error });
  }
}

export interface ArchiveEntry {
  readonly name: string;
  readonly size: number;
  /** Checksum of the content, as stated in the archive. */
  readonly crc32: number;
  /** The first bytes of the content, at most `maxBytes`. @throws {BadRequestError} when it cannot be inflated */
  head(maxBytes: number): Promise<Uint8Array>;
  /** The bytes from `start` to `end`, both included. The archive must stay open until they are read. */
  bytes(start: number, end: number): AsyncGenerator<Uint8Array>;
}

/**
 * Opens an entry of an open `.skill` archive; closing the archive is left to the caller. Nothing is unpacked to the disk.
 *
 * @throws {NotFoundError} when there is no entry with that name
 * @throws {BadRequestError} when the archive or the entry cannot be read, or the name occurs twice
 * @throws {ForbiddenError} when the entry is a link
 * @throws {TooLargeError} when a limit is exceeded
 */
export async function openEntry(archive: OpenFile, inner: string): Promise<ArchiveEntry> {
  const zip = await mapArchiveErrors(() => openZip(archive));
  const entry = await mapArchiveErrors(() => findEntry(zip, inner));
  async function* bytes(start: number, end: number): AsyncGenerator<Uint8Array> {
    const inflating = (await zip.openReadStreamPromise(entry)) as AsyncIterable<Uint8Array>;
    let at = 0;
    for await (const chunk of inflating) {
      const part = chunk.subarray(Math.max(start - at, 0), Math.max(end + 1 - at, 0));
      if (part.byteLength > 0) yield part;
      at += chunk.byteLength;
      if (at > end) return;
    }
  }
  return {
    name: inner.slice(inner.lastIndexOf('/') + 1),
    size: entry.uncompressedSize,
    crc32: entry.crc32,
    head: (maxBytes) =>
      mapArchiveErrors(async () => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of bytes(0, maxBytes - 1)) chunks.push(chunk);
        return Buffer.concat(chunks);
      }),
    bytes,
  };
}

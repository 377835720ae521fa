import { TooLargeError } from '@caribou/contracts';
import type { DocumentLimits } from '../limits.js';

/**
 * Compound files (MS-CFB), the container of `.doc`, `.xls` and `.ppt`: sectors in chains, a tree of names.
 *
 * This is not a library, because known libraries follow a cyclic chain until memory is exhausted. Here a chain has at
 * most as many sectors as the file, and only the streams of the root are read: embedded documents are in storages
 * below.
 */

const SIGNATURE = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const HEADER_BYTES = 512;
const HEADER_FAT_SECTORS = 109;
const ENTRY_BYTES = 128;
const MINI_SECTOR_BYTES = 64;
/** Larger numbers have special meanings: end of a chain, free, no entry. */
const MAX_SECTOR = 0xfffffffa;
const STREAM = 2;
const MAX_NAME_BYTES = 64;

type CompoundLimits = Pick<DocumentLimits, 'maxEntries'>;

export interface CompoundFile {
  /** Whether the root has a stream with that name. */
  has(name: string): boolean;
  /** The stream's bytes; empty for a missing stream. @throws Error when its chain is broken */
  stream(name: string): Buffer;
}

interface Entry {
  readonly name: string;
  readonly type: number;
  readonly left: number;
  readonly right: number;
  readonly child: number;
  readonly start: number;
  readonly size: number;
}

interface Sectors {
  readonly bytes: number;
  /** Maximum number of sectors. */
  readonly count: number;
  at(sector: number): Buffer;
  next(sector: number): number;
}

export const isCompoundFile = (file: Buffer): boolean => file.subarray(0, SIGNATURE.length).equals(SIGNATURE);

/** Joins the sectors of a chain, up to `size` bytes. */
function chain(sectors: Sectors, start: number, size = Number.POSITIVE_INFINITY): Buffer {
  const parts: Buffer[] = [];
  let sector = start;
  for (let length = 0; sector < MAX_SECTOR && length < size; length += sectors.bytes) {
    if (parts.length >= sectors.count) throw new Error('a chain of sectors has no end');
    parts.push(sectors.at(sector));
    sector = sectors.next(sector);
  }
  const joined = Buffer.concat(parts);
  if (Number.isFinite(size) && joined.length < size) throw new Error('a stream is shorter than it says');
  return joined.subarray(0, size);
}

/** The sectors of the allocation table: the first are listed in the header, further ones in their own chain. */
function tableSectors(file: Buffer, at: Sectors['at'], count: number): readonly number[] {
  const named = Array.from({ length: HEADER_FAT_SECTORS }, (_, index) => file.readUInt32LE(0x4c + 4 * index));
  let more = file.readUInt32LE(0x44);
  for (let visited = 0; more < MAX_SECTOR; visited++) {
    if (visited >= count) throw new Error('a chain of sectors has no end');
    const sector = at(more);
    const last = sector.length - 4;
    for (let offset = 0; offset < last; offset += 4) named.push(sector.readUInt32LE(offset));
    more = sector.readUInt32LE(last);
  }
  return named.filter((sector) => sector < MAX_SECTOR).slice(0, count);
}

/** The number at `index` of a table that is cut into sectors. */
function numberIn(sectors: readonly number[], at: Sectors['at'], bytes: number, index: number): number {
  const perSector = bytes / 4;
  const sector = sectors[Math.floor(index / perSector)];
  if (sector === undefined) throw new Error('a sector is in no chain');
  return at(sector).readUInt32LE((index % perSector) * 4);
}

function sectorsOf(file: Buffer): Sectors {
  const shift = file.readUInt16LE(0x1e);
  if (file.length < HEADER_BYTES || (shift !== 9 && shift !== 12)) throw new Error('its header is broken');
  const bytes = 2 ** shift;
  const count = Math.ceil(file.length / bytes);
  const at = (sector: number) => {
    const start = (sector + 1) * bytes;
    if (start >= file.length) throw new Error('a sector lies outside the file');
    const part = file.subarray(start, start + bytes);
    // Some programs cut the last sector where the data ends.
    return part.length === bytes ? part : Buffer.concat([part], bytes);
  };
  const table = tableSectors(file, at, count);
  return { bytes, count, at, next: (sector) => numberIn(table, at, bytes, sector) };
}

function entryOf(directory: Buffer, index: number): Entry {
  const bytes = directory.subarray(index * ENTRY_BYTES, (index + 1) * ENTRY_BYTES);
  if (bytes.length < ENTRY_BYTES) throw new Error('a name lies outside the directory');
  const nameBytes = Math.min(bytes.readUInt16LE(64), MAX_NAME_BYTES);
  return {
    name: bytes.toString('utf16le', 0, Math.max(nameBytes - 2, 0)),
    type: bytes.readUInt8(66),
    left: bytes.readUInt32LE(68),
    right: bytes.readUInt32LE(72),
    child: bytes.readUInt32LE(76),
    start: bytes.readUInt32LE(116),
    // The upper half of the size is not needed, as files are smaller than 4 GiB.
    size: bytes.readUInt32LE(120),
  };
}

/** The streams directly below the root. */
function rootStreams(directory: Buffer, root: Entry, { maxEntries }: CompoundLimits): ReadonlyMap<string, Entry> {
  const streams = new Map<string, Entry>();
  const open = [root.child];
  const seen = new Set<number>();
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    // No entry, or a reference to a missing one, which some programs write.
    if ((index + 1) * ENTRY_BYTES > directory.length) continue;
    if (seen.has(index)) throw new Error('its directory leads back to itself');
    if (seen.add(index).size > maxEntries) throw new TooLargeError(`the file holds more than ${maxEntries} entries`);
    const entry = entryOf(directory, index);
    if (entry.type === STREAM) streams.set(entry.name, entry);
    open.push(entry.left, entry.right);
  }
  return streams;
}

/** Opens the file. @throws TooLargeError for too many entries, Error when it is broken */
export function compoundFile(file: Buffer, limits: CompoundLimits): CompoundFile {
  const sectors = sectorsOf(file);
  const directory = chain(sectors, file.readUInt32LE(0x30));
  const root = entryOf(directory, 0);
  const streams = rootStreams(directory, root, limits);
  const smallBelow = file.readUInt32LE(0x38);
  // Both are read once, when the first small stream is asked for.
  let small: Sectors | undefined;
  const smallSectors = (): Sectors => {
    const content = chain(sectors, root.start, root.size);
    const table = chain(sectors, file.readUInt32LE(0x3c));
    return {
      bytes: MINI_SECTOR_BYTES,
      count: Math.ceil(content.length / MINI_SECTOR_BYTES),
      at: (sector) => content.subarray(sector * MINI_SECTOR_BYTES, (sector + 1) * MINI_SECTOR_BYTES),
      next: (sector) => table.readUInt32LE(sector * 4),
    };
  };
  return {
    has: (name) => streams.has(name),
    stream: (name) => {
      const entry = streams.get(name);
      if (entry === undefined || entry.size === 0) return Buffer.alloc(0);
      if (entry.size >= smallBelow) return chain(sectors, entry.start, entry.size);
      small ??= smallSectors();
      return chain(small, entry.start, entry.size);
    },
  };
}

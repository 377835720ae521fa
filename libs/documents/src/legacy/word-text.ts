import { InvalidRequestError } from '@caribou/contracts';
import type { CompoundFile } from './compound-file.js';

/** The text of a Word file (MS-DOC): its positions according to the header, and its characters in order. */

const MAGIC = 0xa5ec;
const FIRST_VERSION_97 = 0xc1;
const ENCRYPTED = 0x0100;
const SECOND_TABLE = 0x0200;
/** Offset of the pairs "position in the table stream, length", and the index of the pairs that are used. */
const PAIRS = 0x9a;
const PIECES_PAIR = 33;
const PIECE_TABLE = 2;
const PIECE_PROPERTIES = 1;
const PIECE_BYTES = 8;
const COMPRESSED = 0x40000000;
const MAX_FC = 0x3fffffff;

/** Header offsets of the lengths in characters of the text's parts. */
const LENGTHS = { main: 0x4c, footnotes: 0x50, headers: 0x54, comments: 0x5c, endnotes: 0x60, boxes: 0x64 };
type TextPart = keyof typeof LENGTHS;

export interface WordText {
  readonly document: Buffer;
  /** The stream for properties that are too large for the pages of formats. */
  readonly data: Buffer;
  /** The bytes of the table stream that the pair with that number refers to, in the order of FibRgFcLcb97. */
  table(pair: number): Buffer;
  /** Stretches of the part's text with the position of the first byte of each, in total at most `maxChars`. */
  pieces(part: TextPart, maxChars: number): Iterable<WordPiece>;
  length(part: TextPart): number;
}

export interface WordPiece {
  readonly text: string;
  readonly fc: number;
  readonly bytesPerChar: number;
}

interface Extent {
  readonly from: number;
  readonly to: number;
  readonly fc: number;
  readonly bytesPerChar: number;
}

/** The piece table: characters `from` to `to` are at `fc`. @throws Error when there is none */
function extentsOf(clx: Buffer): readonly Extent[] {
  let at = 0;
  while (clx.readUInt8(at) === PIECE_PROPERTIES) at += 3 + clx.readUInt16LE(at + 1);
  if (clx.readUInt8(at) !== PIECE_TABLE) throw new Error('it has no piece table');
  const table = clx.subarray(at + 5, at + 5 + clx.readUInt32LE(at + 1));
  const count = Math.max(Math.floor((table.length - 4) / (4 + PIECE_BYTES)), 0);
  return Array.from({ length: count }, (_, index) => {
    const where = table.readUInt32LE((count + 1) * 4 + index * PIECE_BYTES + 2);
    const compressed = (where & COMPRESSED) !== 0;
    const fc = where & MAX_FC;
    return {
      from: table.readUInt32LE(index * 4),
      to: table.readUInt32LE((index + 1) * 4),
      ...(compressed ? { fc: fc / 2, bytesPerChar: 1 } : { fc, bytesPerChar: 2 }),
    };
  });
}

const windows1252 = new TextDecoder('windows-1252');

/** Opens the text. @throws InvalidRequestError when it is encrypted or of Word 95 or older, Error when it is broken */
export function wordText(file: CompoundFile): WordText {
  const document = file.stream('WordDocument');
  if (document.readUInt16LE(0) !== MAGIC) throw new Error('its header is broken');
  if (document.readUInt16LE(2) < FIRST_VERSION_97) {
    throw new InvalidRequestError('the file is of Word 95 or older');
  }
  const flags = document.readUInt16LE(0x0a);
  if ((flags & ENCRYPTED) !== 0) throw new InvalidRequestError('the file is encrypted');
  const tables = file.stream((flags & SECOND_TABLE) !== 0 ? '1Table' : '0Table');
  const table = (pair: number) => {
    const start = document.readUInt32LE(PAIRS + pair * 8);
    return tables.subarray(start, start + document.readUInt32LE(PAIRS + pair * 8 + 4));
  };
  const extents = extentsOf(table(PIECES_PAIR));
  const length = (part: TextPart) => Math.max(document.readInt32LE(LENGTHS[part]), 0);
  const start = (part: TextPart) => {
    const parts = Object.keys(LENGTHS) as TextPart[];
    return parts.slice(0, parts.indexOf(part)).reduce((sum, before) => sum + length(before), 0);
  };
  return {
    document,
    data: file.stream('Data'),
    table,
    length,
    pieces: function* (part, maxChars) {
      const first = start(part);
      const end = first + Math.min(length(part), maxChars);
      let at = first;
      for (const { from, to, fc, bytesPerChar } of extents) {
        // In order and each character once, so that a broken table cannot produce more text than requested.
        if (to <= at || from > at) continue;
        if (at >= end) return;
        const firstByte = fc + (at - from) * bytesPerChar;
        const bytes = document.subarray(firstByte, firstByte + (Math.min(to, end) - at) * bytesPerChar);
        const text = bytesPerChar === 1 ? windows1252.decode(bytes) : bytes.toString('utf16le');
        yield { text, fc: firstByte, bytesPerChar };
        at = Math.min(to, end);
      }
    },
  };
}

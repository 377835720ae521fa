import type { WordText } from './word-text.js';

/**
 * Formats of paragraphs and characters of a Word file (MS-DOC): pages of 512 bytes that refer to stretches of the file.
 */

const PAGE_BYTES = 512;
const PARAGRAPHS_PAIR = 13;
const CHARACTERS_PAIR = 12;
const MAX_PAGE = 0x3fffff;
/** The entry of a stretch: the offset of its properties in 16-bit words, and 12 bytes that are ignored. */
const PARAGRAPH_ENTRY_BYTES = 13;

/** Codes of the properties that are used. */
const IN_TABLE = 0x2416;
const ROW_END = 0x2417;
const LIST = 0x460b;
const LIST_LEVEL = 0x260a;
const OUTLINE_LEVEL = 0x2640;
const DELETED = 0x0800;
const HIDDEN = 0x083c;
/** Properties with the offset in the data stream of further properties, as for ends of wide rows. */
const ELSEWHERE = [0x6646, 0x6645];
/** Properties whose length does not follow the rule. */
const TABLE_DEFINITION = 0xd608;
const TABS = 0xc615;
const MAX_LIST = 0x7fe;
const BODY_LEVEL = 9;
/** Bytes of a property by the top three bits of its code; for 6 the length is stored. */
const SIZES = [1, 1, 2, 4, 2, 2, 0, 3];

export interface ParagraphFormat {
  /** Level from 1; null for text. */
  readonly heading: number | null;
  /** Depth in a list from 0; null outside. */
  readonly listLevel: number | null;
  readonly inTable: boolean;
  readonly endsRow: boolean;
}

export interface WordFormats {
  /** The format of the paragraph whose mark is at that byte. */
  paragraph(fc: number): ParagraphFormat;
  /** Whether the character at that byte was deleted while changes were tracked, or is hidden. */
  isHidden(fc: number): boolean;
}

interface Stretch<T> {
  readonly from: number;
  readonly to: number;
  readonly format: T;
}

interface PageEntry {
  readonly page: Buffer;
  readonly index: number;
  /** Number of stretches of the page. */
  readonly count: number;
}

function sizeOf(properties: Buffer, code: number, at: number): number {
  const size = SIZES[code >> 13] ?? 0;
  if (size > 0) return size;
  if (code === TABLE_DEFINITION) return properties.readUInt16LE(at) + 1;
  const length = properties.readUInt8(at);
  // With more tab stops than its length can express, it only follows the last property that is used.
  return code === TABS && length === 0xff ? properties.length : 1 + length;
}

/** Single properties by their code; a truncated list ends where it is cut. */
function propertiesOf(bytes: Buffer): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  let at = 0;
  while (at + 3 <= bytes.length) {
    const code = bytes.readUInt16LE(at);
    const value = at + 4 <= bytes.length ? bytes.readUInt16LE(at + 2) : bytes.readUInt8(at + 2);
    if (SIZES[code >> 13] === 1) found.set(code, value & 0xff);
    else if (SIZES[code >> 13] === 2) found.set(code, value);
    else if (ELSEWHERE.includes(code) && at + 6 <= bytes.length) found.set(code, bytes.readUInt32LE(at + 2));
    if (code === TABLE_DEFINITION && at + 4 > bytes.length) break;
    at += 2 + sizeOf(bytes, code, at + 2);
  }
  return found;
}

/** Styles 1 to 9 are the built-in headings in every file, whatever their names are in its language. */
function headingOf(style: number, outline: number): number | null {
  if (style >= 1 && style <= 9) return style;
  return outline < BODY_LEVEL ? outline + 1 : null;
}

/** The properties, including those in the data stream that they refer to. */
function wholeProperties(bytes: Buffer, data: Buffer): ReadonlyMap<number, number> {
  const properties = propertiesOf(bytes);
  const at = ELSEWHERE.map((code) => properties.get(code)).find((offset) => offset !== undefined);
  if (at === undefined || at + 2 > data.length) return properties;
  return new Map([...properties, ...propertiesOf(data.subarray(at + 2, at + 2 + data.readUInt16LE(at)))]);
}

function paragraphFormat({ page, index, count }: PageEntry, data: Buffer): ParagraphFormat | null {
  const offset = page.readUInt8((count + 1) * 4 + index * PARAGRAPH_ENTRY_BYTES) * 2;
  if (offset === 0) return null;
  const words = page.readUInt8(offset);
  const start = words === 0 ? offset + 2 : offset + 1;
  const length = words === 0 ? page.readUInt8(offset + 1) * 2 : words * 2 - 1;
  const properties = wholeProperties(page.subarray(start + 2, start + length), data);
  const list = properties.get(LIST) ?? 0;
  return {
    heading: headingOf(page.readUInt16LE(start), properties.get(OUTLINE_LEVEL) ?? BODY_LEVEL),
    listLevel: list > 0 && list <= MAX_LIST ? (properties.get(LIST_LEVEL) ?? 0) : null,
    inTable: properties.get(IN_TABLE) === 1,
    endsRow: properties.get(ROW_END) === 1,
  };
}

/** Whether the characters are hidden; null for visible ones, which need no entry. */
function readHiddenFormat({ page, index, count }: PageEntry): true | null {
  const offset = page.readUInt8((count + 1) * 4 + index) * 2;
  if (offset === 0) return null;
  const properties = propertiesOf(page.subarray(offset + 1, offset + 1 + page.readUInt8(offset)));
  return properties.get(DELETED) === 1 || properties.get(HIDDEN) === 1 ? true : null;
}

/** The stretches of all pages that the table refers to, each page once. */
function stretchesOf<T>(
  document: Buffer,
  table: Buffer,
  formatOf: (entry: PageEntry) => T | null,
): readonly Stretch<T>[] {
  const pages = new Set<number>();
  const count = Math.max(Math.floor((table.length - 4) / 8), 0);
  for (let index = 0; index < count; index++) pages.add(table.readUInt32LE((count + 1 + index) * 4) & MAX_PAGE);
  const stretches: Stretch<T>[] = [];
  for (const number of pages) {
    const page = document.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES);
    if (page.length < PAGE_BYTES) continue;
    const inPage = page.readUInt8(PAGE_BYTES - 1);
    for (let index = 0; index < inPage; index++) {
      const format = formatOf({ page, index, count: inPage });
      const [from, to] = [page.readUInt32LE(index * 4), page.readUInt32LE((index + 1) * 4)];
      if (format !== null) stretches.push({ from, to, format });
    }
  }
  return stretches.sort((a, b) => a.from - b.from);
}

/** The format of the last stretch that begins at `fc` or before, unless it has ended by then. */
function formatAt<T>(stretches: readonly Stretch<T>[], fc: number): T | undefined {
  let [low, high] = [0, stretches.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((stretches[middle]?.from ?? Infinity) <= fc) low = middle + 1;
    else high = middle;
  }
  const found = stretches[low - 1];
  return found !== undefined && fc < found.to ? found.format : undefined;
}

const plain: ParagraphFormat = { heading: null, listLevel: null, inTable: false, endsRow: false };

/** Reads all formats. @throws Error when a page is broken */
export function wordFormats({ document, data, table }: Pick<WordText, 'document' | 'data' | 'table'>): WordFormats {
  const paragraphs = stretchesOf(document, table(PARAGRAPHS_PAIR), (entry) => paragraphFormat(entry, data));
  const hidden = stretchesOf(document, table(CHARACTERS_PAIR), readHiddenFormat);
  return {
    paragraph: (fc) => formatAt(paragraphs, fc) ?? plain,
    isHidden: (fc) => hidden.length > 0 && formatAt(hidden, fc) === true,
  };
}

import { read, type CellObject, type WorkSheet } from '@e965/xlsx';
import { InvalidRequestError } from '@caribou/contracts';
import type { DocumentLimits } from '../limits.js';
import { markdownTable } from '../text/markdown-table.js';
import { dateText, showsDate } from '../office/xlsx-cells.js';
import { compoundFile } from './compound-file.js';

/** Stream names of Excel 97 and later, and of Excel 5 and 95. */
const STREAMS = ['Workbook', 'Book'];
const BOF_BYTE = 0x09;
const MAX_BOF_VERSION = 0x08;
const END_OF_GLOBALS = 0x0a;
const FILE_PASS = 0x2f;
const RECORD_HEAD = 4;

/** Whether the workbook's first records say that the following ones are encrypted. */
function isEncrypted(book: Buffer): boolean {
  for (let at = 0; at + RECORD_HEAD <= book.length; at += RECORD_HEAD + book.readUInt16LE(at + 2)) {
    const type = book.readUInt16LE(at);
    if (type === FILE_PASS) return true;
    if (type === END_OF_GLOBALS) return false;
  }
  return false;
}

function cellText(cell: CellObject | null | undefined, since1904: boolean): string {
  if (cell?.v === undefined) return '';
  const { t: type, v: value, z: format, w: shown } = cell;
  if (type === 'b') return value === true ? 'TRUE' : 'FALSE';
  if (type === 'e') return shown ?? '';
  const text = String(value);
  return type === 'n' && typeof format === 'string' && showsDate(format) ? dateText(text, since1904) : text;
}

/** The non-empty rows, with one column more than shown, so that the table can note what was omitted. */
function rowsOf(sheet: WorkSheet, since1904: boolean, { maxColumns }: DocumentLimits): readonly (readonly string[])[] {
  const rows = (sheet['!data'] ?? []) as readonly (readonly (CellObject | null | undefined)[] | undefined)[];
  return rows.flatMap((cells) => {
    // Missing cells are holes in the array, which only `Array.from` visits.
    const row = Array.from(cells?.slice(0, maxColumns + 1) ?? [], (cell) => cellText(cell, since1904));
    return row.some((text) => text !== '') ? [row] : [];
  });
}

function sheetText(sheet: WorkSheet | undefined, since1904: boolean, limits: DocumentLimits): string {
  if (sheet === undefined) return '*No cells.*';
  const rows = rowsOf(sheet, since1904, limits);
  const table = markdownTable(rows, limits);
  // Rows that were not read; the table notes omitted rows that were read.
  const unread = sheet['!fullref'] !== undefined && rows.length <= limits.maxRows;
  return (table === '' ? '*No cells.*' : table) + (unread ? `\n\n*Left out: rows after ${limits.maxRows}.*` : '');
}

/**
 * Converts each sheet to a table under the sheet's name, as for an XLSX. Formulas give their last result; macros are
 * ignored.
 *
 * @throws InvalidRequestError when it is encrypted, Error when it is broken
 */
export function xlsToMarkdown(bytes: Buffer, limits: DocumentLimits): string {
  const file = compoundFile(bytes, limits);
  const book = file.stream(STREAMS.find((name) => file.has(name)) ?? '');
  // The library detects a dozen formats by their first bytes, so it is only given the records of a workbook.
  if (book[0] !== BOF_BYTE || (book[1] ?? Infinity) > MAX_BOF_VERSION) throw new Error('it has no workbook');
  if (isEncrypted(book)) throw new InvalidRequestError('the file is encrypted');
  const {
    SheetNames: names,
    Sheets: sheets,
    Workbook: about,
  } = read(book, {
    type: 'buffer',
    dense: true,
    cellFormula: false,
    cellHTML: false,
    cellNF: true,
    sheetRows: limits.maxRows + 1,
  });
  const since1904 = about?.WBProps?.date1904 === true;
  const texts = names
    .slice(0, limits.maxPages)
    .map((name) => `## ${name}\n\n${sheetText(sheets[name], since1904, limits)}`);
  if (names.length > limits.maxPages) texts.push(`*Left out: sheets after ${limits.maxPages}.*`);
  return texts.join('\n\n');
}

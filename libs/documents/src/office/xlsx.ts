import type { DocumentLimits } from '../limits.js';
import { markdownTable } from '../text/markdown-table.js';
import { type OfficeFile, officeFile } from './office-parts.js';
import { descendant, descendants, readXml, type XmlAttributes } from './xml.js';
import { columnOf, dateStyles, dateText } from './xlsx-cells.js';

const WORKBOOK = 'xl/workbook.xml';

interface Book {
  readonly strings: readonly string[];
  readonly dates: ReadonlySet<number>;
  readonly since1904: boolean;
}

/** The texts that cells reference by index, without the phonetic guides of East Asian text. */
function readSharedStrings(part: Uint8Array | undefined, limits: DocumentLimits): readonly string[] {
  const strings: string[] = [];
  if (part === undefined) return strings;
  let text = '';
  let inText = false;
  let phonetic = false;
  readXml(part, limits, {
    open: (name) => {
      if (name === 'si') text = '';
      if (name === 'rPh') phonetic = true;
      inText = name === 't';
    },
    text: (piece) => {
      if (inText && !phonetic) text += piece;
    },
    close: (name) => {
      inText = false;
      if (name === 'rPh') phonetic = false;
      if (name === 'si') strings.push(text);
    },
  });
  return strings;
}

function cellText(value: string, { t: type, s: style }: XmlAttributes, book: Book): string {
  if (type === 's') return book.strings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type !== undefined && type !== 'n') return value;
  return book.dates.has(Number(style ?? -1)) ? dateText(value, book.since1904) : value;
}

/**
 * The non-empty rows of a sheet, with one row and one column more than shown, so that the table can note what was
 * omitted.
 */
function rowsOf(sheet: Uint8Array, book: Book, limits: DocumentLimits): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell: XmlAttributes = {};
  let column = -1;
  let value = '';
  let inValue = false;
  const take = () => {
    if (value === '' || column > limits.maxColumns) return;
    while (row.length < column) row.push('');
    row[column] = cellText(value, cell, book);
  };
  readXml(sheet, limits, {
    open: (name, attributes) => {
      inValue = name === 'v' || name === 't';
      if (name === 'row') [row, column] = [[], -1];
      if (name === 'c') [cell, value, column] = [attributes, '', columnOf(attributes.r) ?? column + 1];
    },
    text: (text) => {
      if (inValue) value += text;
    },
    close: (name) => {
      inValue = false;
      if (name === 'c') take();
      if (name === 'row' && row.length > 0 && rows.length <= limits.maxRows) rows.push(row);
    },
  });
  return rows;
}

function bookOf(file: OfficeFile, limits: DocumentLimits): Book {
  const links = [...file.links(WORKBOOK).values()];
  const target = (kind: string) => links.find(({ type }) => type === kind)?.target ?? '';
  const styles = target('styles');
  const since1904 = descendant(file.tree(WORKBOOK), 'workbookPr')?.attributes.date1904;
  return {
    strings: readSharedStrings(file.bytes(target('sharedStrings')), limits),
    dates: file.bytes(styles) === undefined ? new Set() : dateStyles(file.tree(styles)),
    since1904: since1904 === '1' || since1904 === 'true',
  };
}

/**
 * Converts each sheet to a table under its name; dates as ISO text, formulas as their last result. @throws as
 * `officeFile`
 */
export async function xlsxToMarkdown(bytes: Buffer, limits: DocumentLimits): Promise<string> {
  const file = await officeFile(bytes, limits);
  const book = bookOf(file, limits);
  const links = file.links(WORKBOOK);
  const sheets = [...descendants(file.tree(WORKBOOK), 'sheet')];
  const texts = sheets.slice(0, limits.maxPages).map(({ attributes }) => {
    const sheet = file.bytes(links.get(attributes['r:id'] ?? '')?.target ?? '');
    const table = sheet === undefined ? '' : markdownTable(rowsOf(sheet, book, limits), limits);
    return `## ${attributes.name ?? ''}\n\n${table === '' ? '*No cells.*' : table}`;
  });
  if (sheets.length > limits.maxPages) texts.push(`*Left out: sheets after ${limits.maxPages}.*`);
  return texts.join('\n\n');
}

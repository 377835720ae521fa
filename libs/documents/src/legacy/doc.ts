import type { DocumentLimits } from '../limits.js';
import { markdownTable } from '../text/markdown-table.js';
import { compoundFile } from './compound-file.js';
import { wordFormats } from './word-formats.js';
import { type WordParagraph, wordParagraphs } from './word-paragraphs.js';
import { wordText } from './word-text.js';

/**
 * Converts files of Word 97 to 2003. The library on npm (`word-extractor`) is not used because it has no headings,
 * lists or tables, returns deleted and hidden text, never returns for a cycle of sectors, and has had no release for
 * years.
 */

const MAX_HEADING = 6;
const MAX_LEVEL = 8;

/** Texts after the main one, with their headings. */
const appendices = [
  ['footnotes', '**Footnotes:**'],
  ['endnotes', '**Endnotes:**'],
  ['boxes', '**Text boxes:**'],
] as const;

interface Block {
  readonly text: string;
  /** Items follow each other without an empty line. */
  readonly isItem: boolean;
}

function blockOf({ text, format: { heading, listLevel } }: WordParagraph): Block {
  if (heading !== null) {
    return { text: `${'#'.repeat(Math.min(heading, MAX_HEADING))} ${text.replace(/\s+/g, ' ')}`, isItem: false };
  }
  if (listLevel === null) return { text, isItem: false };
  const indent = '  '.repeat(Math.min(listLevel, MAX_LEVEL));
  return { text: `${indent}- ${text.replaceAll('\n', `\n${indent}  `)}`, isItem: true };
}

/**
 * Collects the cells of a table, with one row and one column more than shown, so that the table can note what was
 * omitted.
 */
class OpenTable {
  #rows: string[][] = [];
  #row: string[] = [];
  #cell: string[] = [];

  constructor(private readonly limits: DocumentLimits) {}

  add({ text, endsCell, format }: WordParagraph): void {
    if (format.endsRow) {
      if (this.#row.length > 0 && this.#rows.length <= this.limits.maxRows) this.#rows.push(this.#row);
      [this.#row, this.#cell] = [[], []];
      return;
    }
    if (text !== '') this.#cell.push(text);
    if (!endsCell) return;
    if (this.#row.length <= this.limits.maxColumns) this.#row.push(this.#cell.join('\n'));
    this.#cell = [];
  }

  /** Returns the collected table, or an empty text, and starts the next one. */
  take(): string {
    // The end of the last row is missing in a broken file.
    if (this.#row.length > 0) this.#rows.push(this.#row);
    const table = markdownTable(this.#rows, this.limits);
    [this.#rows, this.#row, this.#cell] = [[], [], []];
    return table;
  }
}

function* blocksOf(paragraphs: Iterable<WordParagraph>, limits: DocumentLimits): Generator<Block> {
  const table = new OpenTable(limits);
  for (const paragraph of paragraphs) {
    if (paragraph.format.inTable || paragraph.endsCell) {
      table.add(paragraph);
      continue;
    }
    yield { text: table.take(), isItem: false };
    if (paragraph.text !== '') yield blockOf(paragraph);
  }
  yield { text: table.take(), isItem: false };
}

function joinBlocks(blocks: Iterable<Block>): string {
  const texts: string[] = [];
  let afterItem = false;
  for (const { text, isItem } of blocks) {
    if (text === '') continue;
    if (texts.length > 0) texts.push(afterItem && isItem ? '\n' : '\n\n');
    texts.push(text);
    afterItem = isItem;
  }
  return texts.join('');
}

/**
 * Headings, lists, tables, links; then notes and text boxes. Headers, comments, pictures and macros are not read.
 *
 * @throws InvalidRequestError when it is encrypted or older than Word 97, Error when it is broken
 */
export function docToMarkdown(bytes: Buffer, limits: DocumentLimits): string {
  const text = wordText(compoundFile(bytes, limits));
  const formats = wordFormats(text);
  // The Markdown is cut to this size anyway.
  const maxChars = limits.maxOutputBytes;
  const main = joinBlocks(blocksOf(wordParagraphs(text, formats, { part: 'main', maxChars }), limits));
  const cut = text.length('main') > maxChars ? `*Left out: text after ${maxChars} characters.*` : '';
  const others = appendices.map(([part, heading]) => {
    const paragraphs = [...wordParagraphs(text, formats, { part, maxChars })].filter((one) => one.text !== '');
    return paragraphs.length === 0 ? '' : `${heading}\n\n${paragraphs.map((one) => `- ${one.text}`).join('\n')}`;
  });
  return [main, cut, ...others].filter((block) => block !== '').join('\n\n');
}

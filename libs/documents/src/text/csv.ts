import type { DocumentLimits } from '../limits.js';
import { markdownTable } from './markdown-table.js';

/** The most frequent separator of the first line; a comma by default. */
function separatorOf(text: string): string {
  const first = text.slice(0, 10_000).split(/\r?\n/, 1)[0] ?? '';
  const count = (separator: string) => first.split(separator).length;
  return [',', ';', '\t'].reduce((best, next) => (count(next) > count(best) ? next : best));
}

/** Reads the field between the quote at `at` and the closing one (two quotes are one), as in RFC 4180. */
function readQuotedField(text: string, at: number): { field: string; next: number } {
  let field = '';
  let from = at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return { field: field + text.slice(from), next: text.length };
    field += text.slice(from, quote);
    if (text[quote + 1] !== '"') return { field, next: quote + 1 };
    field += '"';
    from = quote + 2;
  }
}

/** The fields in order, and whether each is the last of its row; an unclosed quote ends with the text. */
function* fieldsOf(text: string, separator: string): Generator<{ field: string; endsRow: boolean }> {
  const ends: readonly (string | undefined)[] = [separator, '\n', '\r', undefined];
  let at = 0;
  while (at < text.length) {
    const quoted = text[at] === '"' ? readQuotedField(text, at) : { field: '', next: at };
    at = quoted.next;
    while (!ends.includes(text[at])) at++;
    const field = quoted.field + text.slice(quoted.next, at);
    const endsRow = text[at] !== separator;
    at += text.startsWith('\r\n', at) ? 2 : 1;
    yield { field, endsRow };
  }
}

/** Converts a CSV file to one table; the separator is detected among comma, semicolon and tab. */
export function csvToMarkdown(bytes: Uint8Array, limits: DocumentLimits): string {
  const text = new TextDecoder().decode(bytes);
  const rows: string[][] = [];
  let row: string[] = [];
  for (const { field, endsRow } of fieldsOf(text, separatorOf(text))) {
    // One more than shown, so that the table can note what was omitted.
    if (row.length <= limits.maxColumns) row.push(field);
    if (!endsRow) continue;
    rows.push(row);
    row = [];
    if (rows.length > limits.maxRows) break;
  }
  if (row.length > 0) rows.push(row);
  return markdownTable(rows, limits);
}

import type { DocumentLimits } from '../limits.js';

/** A cell's text on one line and escaped, as bars and line ends would break the table. */
const cellText = (text: string) =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replace(/\s*[\r\n]+\s*/g, '<br>')
    .trim();

/** A Markdown table whose first row is the head; empty text for no rows. A note says what the limits omitted. */
export function markdownTable(
  rows: readonly (readonly string[])[],
  { maxRows, maxColumns }: Pick<DocumentLimits, 'maxRows' | 'maxColumns'>,
): string {
  const shown = rows.slice(0, maxRows);
  const widest = rows.reduce((width, row) => Math.max(width, row.length), 0);
  const width = Math.min(widest, maxColumns);
  if (width === 0) return '';
  const line = (row: readonly string[]) =>
    `| ${Array.from({ length: width }, (_, column) => cellText(row[column] ?? '')).join(' | ')} |`;
  const [head = [], ...body] = shown;
  const lines = [line(head), `|${' --- |'.repeat(width)}`, ...body.map(line)];
  const left = [
    rows.length > maxRows ? `rows after ${maxRows}` : '',
    widest > maxColumns ? `columns after ${maxColumns}` : '',
  ].filter((part) => part !== '');
  return lines.join('\n') + (left.length === 0 ? '' : `\n\n*Left out: ${left.join(', ')}.*`);
}

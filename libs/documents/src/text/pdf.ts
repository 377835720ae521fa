import { getDocumentProxy } from 'unpdf';
import type { DocumentLimits } from '../limits.js';

/** Minimum height of a heading line relative to the page's common text. */
const HEADING_RATIO = 1.25;
const MAX_HEADING_CHARS = 200;

interface Line {
  readonly text: string;
  /** Height of its highest glyph, in the page's units. */
  readonly height: number;
}

interface TextItem {
  readonly str: string;
  readonly height: number;
  readonly hasEOL: boolean;
}

function linesOf(items: readonly TextItem[]): readonly Line[] {
  const lines: Line[] = [];
  let text = '';
  let height = 0;
  const end = () => {
    lines.push({ text: text.trim(), height });
    text = '';
    height = 0;
  };
  for (const item of items) {
    text += item.str;
    height = Math.max(height, item.height);
    if (item.hasEOL) end();
  }
  end();
  return lines.filter((line) => line.text !== '');
}

/** The height of most characters of the page. */
function commonHeight(lines: readonly Line[]): number {
  const chars = new Map<number, number>();
  for (const { text, height } of lines) chars.set(height, (chars.get(height) ?? 0) + text.length);
  const [most] = [...chars].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? 0;
}

function pageText(items: readonly TextItem[]): string {
  const lines = linesOf(items);
  const common = commonHeight(lines);
  const isHeading = ({ text, height }: Line) => height > common * HEADING_RATIO && text.length <= MAX_HEADING_CHARS;
  return lines
    .map((line) => (isHeading(line) ? `\n### ${line.text}\n` : line.text))
    .join('\n')
    .trim();
}

/**
 * Converts the text of a PDF, page by page under `## Page n`; larger lines become headings. Scanned pages have no text.
 */
export async function pdfToMarkdown(bytes: Uint8Array, limits: DocumentLimits): Promise<string> {
  const pdf = await getDocumentProxy(new Uint8Array(bytes));
  const pages = Math.min(pdf.numPages, limits.maxPages);
  const texts: string[] = [];
  for (let number = 1; number <= pages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = pageText(items.flatMap((item) => ('str' in item ? [item] : [])));
    texts.push(`## Page ${number}\n\n${text === '' ? '*No text on this page.*' : text}`);
    page.cleanup();
  }
  if (pdf.numPages > pages) texts.push(`*Left out: pages after ${pages}.*`);
  return texts.join('\n\n');
}

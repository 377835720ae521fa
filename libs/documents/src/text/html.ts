import TurndownService from 'turndown';
import type { DocumentLimits } from '../limits.js';
import { markdownTable } from './markdown-table.js';

const dropped = ['script', 'style', 'noscript', 'template', 'iframe', 'object', 'title', 'img', 'svg'];

const isTag = (node: Node, ...names: readonly string[]) => names.includes(node.nodeName);

/** The rows of a table itself, not those of tables inside its cells. */
function rowsOf(table: Node): Node[] {
  return [...table.childNodes].flatMap((child) => {
    if (isTag(child, 'TR')) return [child];
    return isTag(child, 'THEAD', 'TBODY', 'TFOOT') ? rowsOf(child) : [];
  });
}

function service(limits: DocumentLimits): TurndownService {
  const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  turndown.addRule('dropped', {
    filter: (node) => dropped.includes(node.nodeName.toLowerCase()),
    replacement: () => '',
  });
  turndown.addRule('table', {
    filter: 'table',
    replacement: (_content, node) => {
      if ('querySelectorAll' in node) for (const inside of node.querySelectorAll(dropped.join(','))) inside.remove();
      const rows = rowsOf(node).map((row) =>
        [...row.childNodes].filter((cell) => isTag(cell, 'TD', 'TH')).map((cell) => (cell.textContent ?? '').trim()),
      );
      return `\n\n${markdownTable(rows, limits)}\n\n`;
    },
  });
  return turndown;
}

/** Converts HTML text to Markdown: headings, lists, links, tables; scripts, styles and pictures are dropped. */
export function htmlTextToMarkdown(html: string, limits: DocumentLimits): string {
  return service(limits).turndown(html);
}

/** Converts an HTML file (UTF-8) to Markdown. */
export function htmlToMarkdown(bytes: Uint8Array, limits: DocumentLimits): string {
  return htmlTextToMarkdown(new TextDecoder().decode(bytes), limits);
}

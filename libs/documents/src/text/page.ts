import { InvalidRequestError } from '@caribou/contracts';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { htmlTextToMarkdown } from './html.js';
import type { DocumentLimits } from '../limits.js';

const MAX_TITLE_CHARS = 300;
const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];

/** Parses a page, and adds the elements html, head and body, which a page may omit and the parser does not create. */
function documentOf(html: string): Document {
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html>${html}</html>`);
  const { documentElement: root, head } = document;
  const own = document.querySelector('body');
  const body = own ?? document.createElement('body');
  let place: Element = own === null ? body : head;
  for (const node of [...root.childNodes]) {
    if (node === body) place = body;
    else if (node !== head) place.append(node);
  }
  root.append(body);
  return document;
}

/** Makes links absolute; those that are not links to pages lose their target. */
function resolveLinks(document: Document, url: string): void {
  const declared = document.querySelector('base[href]')?.getAttribute('href') ?? '';
  const base = URL.canParse(declared, url) ? new URL(declared, url).href : url;
  for (const link of document.querySelectorAll('a[href]')) {
    const target = link.getAttribute('href') ?? '';
    const resolved = URL.canParse(target, base) ? new URL(target, base) : undefined;
    if (resolved === undefined || !LINK_SCHEMES.includes(resolved.protocol)) link.removeAttribute('href');
    else link.setAttribute('href', resolved.href);
  }
}

const textOf = (html: string, limits: DocumentLimits): string =>
  html === '' ? '' : htmlTextToMarkdown(html, limits).trim();

const oneLine = (text: string | null | undefined): string =>
  (text ?? '').replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARS);

/**
 * Converts the article of a web page (UTF-8) to Markdown under its title; the whole body when no article is found.
 *
 * @throws InvalidRequestError when it has no text
 */
export function pageToMarkdown(bytes: Uint8Array, limits: DocumentLimits, url = 'about:blank'): string {
  const document = documentOf(new TextDecoder().decode(bytes));
  resolveLinks(document, url);
  const ownTitle = oneLine(document.querySelector('title')?.textContent);
  const whole = document.body.innerHTML;
  const article = new Readability(document).parse();
  const markdown = textOf(article?.content ?? '', limits) || textOf(whole, limits);
  if (markdown === '') throw new InvalidRequestError('the page has no text');
  return `# ${oneLine(article?.title) || ownTitle || 'Untitled'}\n\n${markdown}`;
}

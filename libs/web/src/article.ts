import { InvalidRequestError, UnavailableError } from '@caribou/contracts';
import type { SafeFetch } from '@caribou/core';
import { pageKindOf, pageText } from './page-text.js';
import type { FetchPage, WebPorts } from './ports.js';
import { callProvider, type ProviderApi } from './provider-api.js';
import { firstChars, withTitle } from './texts.js';

export const JINA_URL = 'https://r.jina.ai';

/** Limits of the process that converts a page, which needs few resources. */
const PAGE_LIMITS = {
  maxInputBytes: 8 * 1024 * 1024,
  maxOutputBytes: 512 * 1024,
  deadlineMs: 10_000,
  maxHeapMib: 256,
};
const ACCEPT = 'text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,application/pdf;q=0.7,*/*;q=0.1';

type Pages = WebPorts['pages'];

/** Fetches pages in this process; HTML is converted to its article, PDF to its pages, other text is unchanged. */
export const directFetch =
  (fetch: SafeFetch, pages: Pages, maxChars: number): FetchPage =>
  async (asked, { signal }) => {
    const response = await fetch(asked, { headers: { accept: ACCEPT, 'accept-language': 'en,*;q=0.5' }, signal });
    const { url } = response;
    const type = response.headers.get('content-type') ?? '';
    const kind = pageKindOf(type);
    if (!response.ok || kind === undefined) {
      await response.body?.cancel();
      if (!response.ok) throw new UnavailableError(`${new URL(url).host} answered HTTP ${response.status}`);
      throw new InvalidRequestError(`the URL leads to a file of type ${type.slice(0, 100)}, which is not read as text`);
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (kind === 'text') return firstChars(withTitle(url, pageText(bytes, type)), maxChars);
    if (kind === 'html') return article(pageText(bytes, type), { url, pages, signal, maxChars });
    const markdown = await pages.toMarkdown(bytes, { kind: 'pdf', url, signal, limits: PAGE_LIMITS });
    return firstChars(withTitle(url, markdown), maxChars);
  };

/** Fetches pages by Jina's reader (jina.ai/reader), as HTML. */
export const jinaFetch =
  (api: ProviderApi, pages: Pages, limits: { readonly maxChars: number; readonly timeoutMs: number }): FetchPage =>
  async (url, { signal }) => {
    const headers = { 'x-return-format': 'html', 'x-timeout': String(Math.ceil(limits.timeoutMs / 1000)) };
    const response = await callProvider(api, { path: '/', body: { url }, headers, signal });
    const html = await response.text();
    if (html.trim() === '') throw new UnavailableError('jina gave an empty page');
    return article(html, { url, pages, signal, maxChars: limits.maxChars });
  };

interface ArticleOptions {
  readonly url: string;
  readonly pages: Pages;
  readonly signal: AbortSignal;
  readonly maxChars: number;
}

async function article(html: string, { url, pages, signal, maxChars }: ArticleOptions): Promise<string> {
  const options = { kind: 'page' as const, url, signal, limits: PAGE_LIMITS };
  return firstChars((await pages.toMarkdown(Buffer.from(html), options)).trim(), maxChars);
}

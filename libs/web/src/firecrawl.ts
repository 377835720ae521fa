import { UnavailableError } from '@caribou/contracts';
import { z } from 'zod';
import type { FetchPage, SearchWeb } from './ports.js';
import { callProviderForJson, type ProviderApi } from './provider-api.js';
import { snippetList } from './search-answers.js';
import { firstChars, withTitle, titleText } from './texts.js';

export const FIRECRAWL_URL = 'https://api.firecrawl.dev';

const Result = z.object({ title: z.string().nullish(), url: z.string().nullish(), description: z.string().nullish() });

/** Version 2 groups results by type; self-hosted servers may still return version 1's list. */
const SearchAnswer = z.object({
  data: z.union([z.array(Result), z.object({ web: z.array(Result).default([]) }).transform(({ web }) => web)]),
});

const ScrapeAnswer = z.object({
  data: z.object({
    markdown: z.string().nullish(),
    metadata: z.object({ title: z.union([z.string(), z.array(z.string())]).nullish() }).nullish(),
  }),
});

/** Search by Firecrawl (docs.firecrawl.dev, POST /v2/search). */
export const firecrawlSearch =
  (api: ProviderApi, maxResults: number): SearchWeb =>
  async (query, { signal }) => {
    const request = { path: '/v2/search', body: { query, limit: maxResults }, signal };
    const { data } = await callProviderForJson(api, request, SearchAnswer);
    return snippetList(
      data.map(({ title, url, description }) => ({ title, url, text: description })),
      maxResults,
    );
  };

/** Pages by Firecrawl (docs.firecrawl.dev, POST /v2/scrape). */
export const firecrawlFetch =
  (api: ProviderApi, { maxChars, timeoutMs }: { readonly maxChars: number; readonly timeoutMs: number }): FetchPage =>
  async (url, { signal }) => {
    const request = { path: '/v2/scrape', body: { url, formats: ['markdown'], timeout: timeoutMs }, signal };
    const { data } = await callProviderForJson(api, request, ScrapeAnswer);
    const markdown = data.markdown ?? '';
    if (markdown.trim() === '') throw new UnavailableError('No content found');
    const title = [data.metadata?.title ?? ''].flat()[0];
    return withTitle(titleText(title) || 'Untitled', firstChars(markdown, maxChars));
  };

import { UnavailableError } from '@caribou/contracts';
import { z } from 'zod';
import type { FetchPage, SearchWeb } from './ports.js';
import { callProviderForJson, type ProviderApi } from './provider-api.js';
import { snippetList } from './search-answers.js';
import { firstChars, withTitle, titleText } from './texts.js';

export const TAVILY_URL = 'https://api.tavily.com';

const SearchAnswer = z.object({
  results: z.array(z.object({ title: z.string().nullish(), url: z.string(), content: z.string().nullish() })),
});

const ExtractAnswer = z.object({
  results: z.array(z.object({ url: z.string(), title: z.string().nullish(), raw_content: z.string().nullish() })),
  failed_results: z.array(z.object({ error: z.string().nullish() })).default([]),
});

/** Searches by Tavily (docs.tavily.com, POST /search). */
export const tavilySearch =
  (api: ProviderApi, maxResults: number): SearchWeb =>
  async (query, { signal }) => {
    const request = { path: '/search', body: { query, max_results: maxResults }, signal };
    const { results } = await callProviderForJson(api, request, SearchAnswer);
    return snippetList(
      results.map(({ title, url, content }) => ({ title, url, text: content })),
      maxResults,
    );
  };

/** Fetches pages by Tavily (docs.tavily.com, POST /extract). */
export const tavilyFetch =
  (api: ProviderApi, maxChars: number): FetchPage =>
  async (url, { signal }) => {
    const { results, failed_results } = await callProviderForJson(
      api,
      { path: '/extract', body: { urls: [url] }, signal },
      ExtractAnswer,
    );
    const [failed] = failed_results;
    if (failed !== undefined) throw new UnavailableError(failed.error ?? 'the page could not be read');
    const [page] = results;
    if (page === undefined) throw new UnavailableError('No results found');
    return withTitle(titleText(page.title) || url, firstChars(page.raw_content ?? '', maxChars));
  };

import { ForbiddenError } from '@caribou/contracts';
import { z } from 'zod';
import type { SearchImages, SearchWeb, WebCall } from './ports.js';
import { callProviderForJson, type ProviderApi } from './provider-api.js';
import { imageReport, searchReport } from './search-answers.js';

const text = z.string().nullish();
const Answer = z.object({
  results: z.array(
    z.object({ title: text, url: text, content: text, img_src: text, thumbnail_src: text, thumbnail: text }),
  ),
});

export type SafeSearch = 'on' | 'moderate' | 'off';
const SAFE_SEARCH: Readonly<Record<SafeSearch, string>> = { off: '0', moderate: '1', on: '2' };

interface Question {
  readonly query: string;
  readonly category: 'general' | 'images';
  readonly safeSearch: SafeSearch;
}

async function requestResults(api: ProviderApi, { query, category, safeSearch }: Question, { signal }: WebCall) {
  const parameters = new URLSearchParams({
    q: query,
    format: 'json',
    categories: category,
    safesearch: SAFE_SEARCH[safeSearch],
  });
  try {
    return (await callProviderForJson(api, { path: `/search?${String(parameters)}`, signal }, Answer)).results;
  } catch (error) {
    if (!(error instanceof ForbiddenError) || error.details['providerStatus'] !== 403) throw error;
    const hint = 'searxng refused the request (HTTP 403): its settings.yml must list "json" under search.formats';
    throw new ForbiddenError(hint, { cause: error, details: error.details });
  }
}

/** Searches by a SearXNG server (docs.searxng.org, search API). */
export const searxngSearch =
  (
    api: ProviderApi,
    { maxResults, safeSearch }: { readonly maxResults: number; readonly safeSearch: SafeSearch },
  ): SearchWeb =>
  async (query, call) => {
    const results = await requestResults(api, { query, category: 'general', safeSearch }, call);
    return searchReport(
      query,
      results.map(({ title, url, content }) => ({ title, url, text: content })),
      maxResults,
    );
  };

/** Searches images by a SearXNG server, which has no filters for size, type and layout. */
export const searxngImages =
  (api: ProviderApi, safeSearch: SafeSearch): SearchImages =>
  async ({ query, maxResults }, call) => {
    const results = await requestResults(api, { query, category: 'images', safeSearch }, call);
    return imageReport(
      query,
      results.map(({ title, url, img_src, thumbnail_src, thumbnail }) => ({
        title,
        page: url,
        image: addScheme(img_src),
        thumbnail: addScheme(thumbnail_src ?? thumbnail),
      })),
      maxResults,
    );
  };

/** Adds the scheme, which some engines omit. */
const addScheme = (url: string | null | undefined): string | null | undefined =>
  url?.startsWith('//') === true ? `https:${url}` : url;

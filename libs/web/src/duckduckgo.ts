import { RateLimitedError, UnavailableError } from '@caribou/contracts';
import { z } from 'zod';
import { readResultPage } from './duckduckgo-results.js';
import type { SearchImages, SearchWeb, ImageQuery } from './ports.js';
import { callProviderForJson, callProvider, type ProviderApi } from './provider-api.js';
import { imageReport, searchReport } from './search-answers.js';
import type { SafeSearch } from './searxng.js';

export const DUCKDUCKGO_PAGES_URL = 'https://html.duckduckgo.com';
export const DUCKDUCKGO_URL = 'https://duckduckgo.com';

export interface DuckDuckGoOptions {
  /** Country and language, such as us-en; wt-wt: none. */
  readonly region: string;
  readonly safeSearch: SafeSearch;
}

/** Parameter kp of pages (duckduckgo.com/params). */
const PAGES_SAFE: Readonly<Record<SafeSearch, string>> = { on: '1', moderate: '-1', off: '-2' };
/** Parameter p of image searches. */
const IMAGES_SAFE: Readonly<Record<SafeSearch, string>> = { on: '1', moderate: '1', off: '-1' };

const createChallengeError = (): RateLimitedError =>
  new RateLimitedError(
    'duckduckgo asks whether a person is there, as it does after many searches from one address: try later, or with other words once',
  );

/** Searches by DuckDuckGo's page for browsers without scripts, as there is no API. */
export const duckduckgoSearch =
  (
    api: ProviderApi,
    { region, safeSearch, maxResults }: DuckDuckGoOptions & { readonly maxResults: number },
  ): SearchWeb =>
  async (query, { signal }) => {
    const body = new URLSearchParams({ q: query, b: '', kl: region, kp: PAGES_SAFE[safeSearch] });
    const headers = { accept: 'text/html', referer: `${api.baseUrl}/` };
    const response = await callProvider(api, { path: '/html/', body, headers, signal });
    const { results, isChallenge } = readResultPage(await response.text());
    if (results.length === 0 && (isChallenge || response.status === 202)) throw createChallengeError();
    return searchReport(query, results, maxResults);
  };

const text = z.string().nullish();
const Images = z.object({
  results: z.array(z.object({ title: text, image: text, thumbnail: text, url: text })),
});
/** The token in the search page that is required for image searches. */
const TOKEN = /vqd=(["']?)([\w-]{1,200})\1/;

/** Searches images by DuckDuckGo in the way of its own page: first the search page for its token, then the list. */
export const duckduckgoImages =
  (api: ProviderApi, { region, safeSearch }: DuckDuckGoOptions): SearchImages =>
  async (wanted, { signal }) => {
    const { query, maxResults } = wanted;
    const page = await callProvider(api, {
      path: `/?${String(new URLSearchParams({ q: query, iax: 'images', ia: 'images' }))}`,
      signal,
      headers: { accept: 'text/html' },
    });
    const token = TOKEN.exec(await page.text())?.[2];
    if (token === undefined && page.status === 202) throw createChallengeError();
    if (token === undefined) throw new UnavailableError('duckduckgo gave no token for a search of pictures');
    const parameters = new URLSearchParams({
      o: 'json',
      q: query,
      l: region,
      vqd: token,
      p: IMAGES_SAFE[safeSearch],
      f: filters(wanted),
    });
    const request = { path: `/i.js?${String(parameters)}`, headers: { referer: `${api.baseUrl}/` }, signal };
    const { results } = await callProviderForJson(api, request, Images);
    return imageReport(
      query,
      results.map(({ title, image, thumbnail, url }) => ({ title, image, thumbnail, page: url })),
      maxResults,
    );
  };

/** Builds the filter of time, size, colour, type, layout and licence, in this order. */
function filters({ size, type, layout }: ImageQuery): string {
  const filter = (name: string, value: string | undefined): string => (value === undefined ? '' : `${name}:${value}`);
  return ['', filter('size', size), '', filter('type', type), filter('layout', layout), ''].join(',');
}

import { z } from 'zod';
import { HOST_RULE } from './host-rule.js';
import { integer } from './kinds/setting-kinds.js';

/** Providers of the web tools. */
export const SEARCH_PROVIDERS = ['duckduckgo', 'tavily', 'searxng', 'firecrawl'] as const;
export const FETCH_PROVIDERS = ['direct', 'jina', 'tavily', 'firecrawl'] as const;
export const IMAGE_PROVIDERS = ['duckduckgo', 'searxng'] as const;

const isPlainBase = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
};

const on = (what: string) => z.boolean().default(true).describe(`Offer the tool ${what}`);
const ApiKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/, 'must be 1 to 512 printable ASCII characters without spaces')
  .optional()
  .describe('Default: $TAVILY_API_KEY, $FIRECRAWL_API_KEY or $JINA_API_KEY, whichever the provider is');
const BaseUrl = z
  .string()
  .max(1_000)
  .refine(isPlainBase, 'must be an http(s) URL without user, query and fragment')
  .optional()
  .describe(
    "Server of the provider, which may lie in a private network; default: the provider's own; searxng needs it",
  );
const seconds = () => integer(10, 1, 120).describe('How long one call may take');
const results = () => integer(5, 1, 50).describe('Results of one call');
const Region = z
  .string()
  .regex(/^[a-z]{2}-[a-z]{2}$/, 'must be a region such as us-en')
  .default('wt-wt')
  .describe('duckduckgo: country and language, such as us-en; wt-wt: none');
const SafeSearch = z
  .enum(['on', 'moderate', 'off'])
  .default('moderate')
  .describe('Filter of duckduckgo and searxng for explicit results');

const SearchFile = z
  .object({
    enabled: on('web_search'),
    provider: z.enum(SEARCH_PROVIDERS).default('duckduckgo').describe('Search engine'),
    api_key: ApiKey,
    base_url: BaseUrl,
    max_results: results(),
    timeout_seconds: seconds(),
    region: Region,
    safe_search: SafeSearch,
  })
  .describe('web_search');

const FetchFile = z
  .object({
    enabled: on('web_fetch'),
    provider: z.enum(FETCH_PROVIDERS).default('direct').describe('Who fetches pages; direct: the service itself'),
    api_key: ApiKey,
    base_url: BaseUrl,
    timeout_seconds: seconds(),
    max_chars: integer(4_096, 256, 100_000).describe('Characters of a page that the agent gets'),
    allow: z
      .array(z.string().max(300).regex(HOST_RULE, 'must be a host or *.suffix, with :port where it is not 80 or 443'))
      .max(1_000)
      .default([])
      .describe(
        'Hosts that may be read besides public ones on ports 80 and 443, such as wiki.lan or docs.example.org:8443; they may lie in a private network',
      ),
  })
  .describe('web_fetch');

const ImagesFile = z
  .object({
    enabled: on('image_search'),
    provider: z.enum(IMAGE_PROVIDERS).default('duckduckgo').describe('Search engine'),
    base_url: BaseUrl,
    max_results: results(),
    timeout_seconds: seconds(),
    region: Region,
    safe_search: SafeSearch,
  })
  .describe('image_search');

export const WebFile = z
  .object({ search: SearchFile.prefault({}), fetch: FetchFile.prefault({}), images: ImagesFile.prefault({}) })
  .describe('Tools for the web (docs/web-tools.md)');
export type WebFile = z.output<typeof WebFile>;

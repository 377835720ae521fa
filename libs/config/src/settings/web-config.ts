import { camelKeys, type CamelKeys } from '../common/camel-keys.js';
import type { Findings } from '../common/findings.js';
import { present } from '../common/present.js';
import { type Environment, variable } from '../common/references.js';
import { Secret } from '../common/secret.js';
import type { WebFile } from '../schema/web-schema.js';

/** The section of one web tool; keys are secrets here. */
type WebTool<Section> = Omit<CamelKeys<Section>, 'apiKey'> & {
  readonly apiKey?: Secret;
  /** Why the tool cannot be used, in the operator's words; it is offered and answers with this text. */
  readonly problem?: string;
};

export type WebSearchConfig = WebTool<WebFile['search']>;
export type WebFetchConfig = WebTool<WebFile['fetch']>;
export type WebImagesConfig = WebTool<WebFile['images']>;

/** The web tools; each has the server and the key it was given, or those of its provider. */
export interface WebConfig {
  readonly search: WebSearchConfig;
  readonly fetch: WebFetchConfig;
  readonly images: WebImagesConfig;
}

interface Reading {
  readonly env: Environment;
  readonly findings: Findings;
}

/** Variables that DeerFlow reads keys from. */
const keyVariables: Readonly<Record<string, string>> = {
  tavily: 'TAVILY_API_KEY',
  firecrawl: 'FIRECRAWL_API_KEY',
  jina: 'JINA_API_KEY',
};
/** Providers without a server that could be another. */
const serverless: ReadonlySet<string> = new Set(['direct', 'duckduckgo']);
/** Nobody is served there without a key; a server of one's own may need none. */
const keyNeeded = ['tavily', 'firecrawl'];

/** The section with its keys found; what a tool lacks is a warning at the start and the tool's own answer. */
export function toWeb({ search, fetch, images }: WebFile, reading: Reading): WebConfig {
  return {
    search: toTool('search', search, reading),
    fetch: toTool('fetch', fetch, reading),
    images: toTool('images', images, reading),
  };
}

interface Entry {
  readonly enabled: boolean;
  readonly provider: string;
  readonly api_key?: string | undefined;
  readonly base_url?: string | undefined;
}

function toTool<T extends Entry>(name: string, section: T, { env, findings }: Reading): WebTool<T> {
  const at = `web.${name}`;
  const { provider, enabled, base_url: baseUrl } = section;
  if (enabled) tellServer(at, section, findings);
  const keyVariable = keyVariables[provider];
  const key = section.api_key ?? (keyVariable === undefined ? undefined : variable(env, keyVariable));
  const missing = key === undefined && baseUrl === undefined && keyNeeded.includes(provider);
  const problem = missing
    ? `the provider ${provider} has no API key: set ${keyVariable}, or ${at}.api_key in config.yaml`
    : undefined;
  if (enabled && problem !== undefined) findings.warnings.push(`${at}: ${problem}`);
  const { apiKey: _, ...rest } = camelKeys<Entry & T>(section) as CamelKeys<T> & { readonly apiKey?: string };
  return { ...rest, ...present({ apiKey: key === undefined ? undefined : new Secret(key), problem }) };
}

/** Reports a server that is missing, and one that nothing asks. */
function tellServer(at: string, { provider, base_url: baseUrl }: Entry, { faults, warnings }: Findings): void {
  if (provider === 'searxng' && baseUrl === undefined)
    faults.push(`${at}.base_url: the provider searxng needs the URL of its server, such as http://searxng:8080`);
  if (serverless.has(provider) && baseUrl !== undefined)
    warnings.push(`${at}.base_url: not used: the provider ${provider} has no server of yours; set ${at}.provider`);
}

import { camelKeys, type CamelKeys } from '../common/camel-keys.js';
import type { Findings } from '../common/findings.js';
import { omitUndefined } from '@caribou/contracts';
import { type Environment, variable } from '../common/references.js';
import { Secret } from '../common/secret.js';
import type { WebFile } from '../schema/web-schema.js';

/** The settings of one web tool, with its API key as a secret. */
type WebTool<Section> = Omit<CamelKeys<Section>, 'apiKey'> & {
  readonly apiKey?: Secret;
  /** Why the tool cannot be used, for the operator; it is offered and answers with this text. */
  readonly problem?: string;
};

export type WebSearchConfig = WebTool<WebFile['search']>;
export type WebFetchConfig = WebTool<WebFile['fetch']>;
export type WebImagesConfig = WebTool<WebFile['images']>;

/** The web tools, each with the configured server and key or those of its provider. */
export interface WebConfig {
  readonly search: WebSearchConfig;
  readonly fetch: WebFetchConfig;
  readonly images: WebImagesConfig;
}

interface ReadContext {
  readonly env: Environment;
  readonly findings: Findings;
}

/** Variables of API keys, as in DeerFlow. */
const keyVariables: Readonly<Record<string, string>> = {
  tavily: 'TAVILY_API_KEY',
  firecrawl: 'FIRECRAWL_API_KEY',
  jina: 'JINA_API_KEY',
};
/** Providers whose server cannot be configured. */
const serverless: ReadonlySet<string> = new Set(['direct', 'duckduckgo']);
/** Providers whose public server requires a key; a self-hosted server may need none. */
const keyNeeded = ['tavily', 'firecrawl'];

/** Adds API keys to the section; a missing key becomes a warning at the start and the tool's answer. */
export function toWebConfig({ search, fetch, images }: WebFile, context: ReadContext): WebConfig {
  return {
    search: toToolConfig('search', search, context),
    fetch: toToolConfig('fetch', fetch, context),
    images: toToolConfig('images', images, context),
  };
}

interface Entry {
  readonly enabled: boolean;
  readonly provider: string;
  readonly api_key?: string | undefined;
  readonly base_url?: string | undefined;
}

function toToolConfig<T extends Entry>(name: string, section: T, { env, findings }: ReadContext): WebTool<T> {
  const at = `web.${name}`;
  const { provider, enabled, base_url: baseUrl } = section;
  if (enabled) reportServerMismatch(at, section, findings);
  const keyVariable = keyVariables[provider];
  const key = section.api_key ?? (keyVariable === undefined ? undefined : variable(env, keyVariable));
  const missing = key === undefined && baseUrl === undefined && keyNeeded.includes(provider);
  const problem = missing
    ? `the provider ${provider} has no API key: set ${keyVariable}, or ${at}.api_key in config.yaml`
    : undefined;
  if (enabled && problem !== undefined) findings.warnings.push(`${at}: ${problem}`);
  const { apiKey: _, ...rest } = camelKeys<Entry & T>(section) as CamelKeys<T> & { readonly apiKey?: string };
  return { ...rest, ...omitUndefined({ apiKey: key === undefined ? undefined : new Secret(key), problem }) };
}

/** Adds a fault for a missing server, and a warning for a server that is not used. */
function reportServerMismatch(
  at: string,
  { provider, base_url: baseUrl }: Entry,
  { faults, warnings }: Findings,
): void {
  if (provider === 'searxng' && baseUrl === undefined)
    faults.push(`${at}.base_url: the provider searxng needs the URL of its server, such as http://searxng:8080`);
  if (serverless.has(provider) && baseUrl !== undefined)
    warnings.push(`${at}.base_url: not used: the provider ${provider} has no server of yours; set ${at}.provider`);
}

import { omitUndefined, SANDBOX_TOOLS, WEB_TOOLS } from '@caribou/contracts';
import { FETCH_PROVIDERS, IMAGE_PROVIDERS, SEARCH_PROVIDERS } from '../schema/web-schema.js';

export type WebTool = (typeof WEB_TOOLS)[number];
type SandboxTool = (typeof SANDBOX_TOOLS)[number];

/** Built-in tools that a list may leave out; tools that control the run are always offered. */
export const OPTIONAL_TOOLS: readonly string[] = [...SANDBOX_TOOLS, ...WEB_TOOLS];

export const asWebTool = (name: string): WebTool | undefined => WEB_TOOLS.find((known) => known === name);

export type Counterpart =
  | { readonly name: SandboxTool; readonly provider?: undefined }
  | { readonly name: WebTool; readonly provider: string };

/** Supported providers of DeerFlow's web tools, by the package below `community`. */
const providers: Readonly<Record<WebTool, Readonly<Record<string, string>>>> = {
  web_search: { ddg_search: 'duckduckgo', tavily: 'tavily', searxng: 'searxng', firecrawl: 'firecrawl' },
  web_fetch: { jina_ai: 'jina', tavily: 'tavily', firecrawl: 'firecrawl' },
  image_search: { image_search: 'duckduckgo' },
};

/** DeerFlow's default URLs of self-hosted providers. */
const defaultServers: Readonly<Record<string, string>> = { searxng: 'http://localhost:8088' };

/** Returns the supported providers of a tool. */
export const providersOf = (tool: WebTool): readonly string[] =>
  ({ web_search: SEARCH_PROVIDERS, web_fetch: FETCH_PROVIDERS, image_search: IMAGE_PROVIDERS })[tool];

/** The first version of DeerFlow has the package `src`, later ones `deerflow`. */
const PATH = /^(?:src|deerflow)\.(?:(sandbox)|community\.(\w+))\.tools:(\w+)_tool$/;

/** Returns the built-in tool that replaces the DeerFlow tool of this path; undefined when there is none. */
export function counterpartOf(use: string): Counterpart | undefined {
  const [, sandbox, community, name = ''] = PATH.exec(use) ?? [];
  if (sandbox !== undefined) {
    const found = SANDBOX_TOOLS.find((known) => known === name);
    return found === undefined ? undefined : { name: found };
  }
  const tool = asWebTool(name);
  if (community === undefined || tool === undefined) return undefined;
  const provider = Object.hasOwn(providers[tool], community) ? providers[tool][community] : undefined;
  return provider === undefined ? undefined : { name: tool, provider };
}

/** Keys of the section `web`, by DeerFlow's option. */
const optionNames: Readonly<Record<string, string>> = {
  api_key: 'api_key',
  base_url: 'base_url',
  max_results: 'max_results',
  timeout: 'timeout_seconds',
  timeout_s: 'timeout_seconds',
  region: 'region',
  safesearch: 'safe_search',
};

const optionsOf: Readonly<Record<WebTool, ReadonlySet<string>>> = {
  web_search: new Set(['api_key', 'base_url', 'max_results', 'timeout', 'region', 'safesearch']),
  web_fetch: new Set(['api_key', 'base_url', 'timeout', 'timeout_s']),
  image_search: new Set(['max_results', 'timeout', 'region', 'safesearch']),
};

type Fields = Readonly<Record<string, unknown>>;

interface WebOptions {
  /** Options that the section `web` supports, under its keys. */
  readonly taken: Fields;
  readonly left: Fields;
}

export function webOptions(
  { name: tool, provider }: Counterpart & { readonly name: WebTool },
  given: Fields,
): WebOptions {
  const isTaken = (name: string): boolean => optionsOf[tool].has(name);
  const entries = Object.entries(given);
  const server = defaultServers[provider];
  return {
    taken: {
      provider,
      ...omitUndefined({ base_url: server }),
      ...Object.fromEntries(
        entries.filter(([name]) => isTaken(name)).map(([name, value]) => [optionNames[name] ?? name, value]),
      ),
    },
    left: Object.fromEntries(entries.filter(([name]) => !isTaken(name))),
  };
}

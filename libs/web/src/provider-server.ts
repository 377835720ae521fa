import type { Secret } from '@caribou/config';
import type { WebPorts } from './ports.js';
import type { ProviderApi } from './provider-api.js';

interface Provided {
  readonly provider: string;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: Secret;
}

/** DuckDuckGo only serves clients that look like browsers; this value also identifies the product. */
const USER_AGENT = 'Mozilla/5.0 (compatible; Caribou)';
const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** The server of a provider. Only one that the operator configured may be in a private network. */
export function apiOf(
  { provider, baseUrl, apiKey }: Provided,
  ownUrl: string,
  { reach }: Pick<WebPorts, 'reach'>,
): ProviderApi {
  return {
    name: provider,
    baseUrl: (baseUrl ?? ownUrl).replace(/\/+$/, ''),
    fetch: withUserAgent(reach(baseUrl === undefined ? [] : [ruleOf(baseUrl)]).fetch),
    ...(apiKey === undefined ? {} : { apiKey: apiKey.reveal() }),
  };
}

function ruleOf(baseUrl: string): string {
  const { hostname, port, protocol } = new URL(baseUrl);
  return `${hostname}:${port === '' ? PORTS[protocol] : port}`;
}

/** Adds the user agent to every request. */
export const withUserAgent =
  (fetch: ProviderApi['fetch']): ProviderApi['fetch'] =>
  (url, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('user-agent', USER_AGENT);
    return fetch(url, { ...init, headers });
  };

import type { Secret } from '@caribou/config';
import type { WebPorts } from './ports.js';
import type { ProviderApi } from './provider-api.js';

interface Provided {
  readonly provider: string;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: Secret;
}

/** DuckDuckGo serves nobody who does not look like a browser; this says who asks as well. */
const USER_AGENT = 'Mozilla/5.0 (compatible; Caribou)';
const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** The server of a provider. One that the operator named may lie in a private network; no other host may. */
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

/** Says who asks, on every request. */
export const withUserAgent =
  (fetch: ProviderApi['fetch']): ProviderApi['fetch'] =>
  (url, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('user-agent', USER_AGENT);
    return fetch(url, { ...init, headers });
  };

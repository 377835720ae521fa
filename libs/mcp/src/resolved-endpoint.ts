import { type Endpoint, referenceIn, urlFault } from './server-settings.js';

/** Looks a variable of the environment up, at the moment it is used. */
export type Variable = (name: string) => string | undefined;

export interface ResolvedEndpoint {
  readonly endpoint: Endpoint;
  /** Values that must not be told: what variables held, and what stands in `env`, `headers` and secrets of OAuth. */
  readonly hidden: readonly string[];
  /** Variables that are named and not set; empty texts stand for them. */
  readonly missing: readonly string[];
}

/** Shorter ones would hide ordinary words. */
const MIN_HIDDEN_CHARS = 6;

/**
 * The endpoint with its references (`$NAME` as a whole text) replaced by what the variables hold now. It is made for one
 * connection and kept nowhere.
 *
 * @throws {TypeError} when a variable does not hold the URL it stands for
 */
export function resolvedEndpoint(endpoint: Endpoint, variable: Variable): ResolvedEndpoint {
  const hidden = new Set<string>(secretsOf(endpoint));
  const missing = new Set<string>();
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'string') return mapped(value, resolve);
    const name = referenceIn(value);
    if (name === undefined) return value;
    const found = variable(name);
    if (found === undefined) missing.add(name);
    else hidden.add(found);
    return found ?? '';
  };
  const resolved = resolve(endpoint) as Endpoint;
  if (resolved.kind !== 'stdio') {
    const fault = urlFault(resolved.url);
    if (fault !== undefined) throw new TypeError(`url: ${fault}`);
  }
  return {
    endpoint: resolved,
    hidden: [...hidden].filter((text) => text.length >= MIN_HIDDEN_CHARS && referenceIn(text) === undefined),
    missing: [...missing],
  };
}

function mapped(value: unknown, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]: [string, unknown]) => [key, change(item)]));
}

function secretsOf(endpoint: Endpoint): readonly string[] {
  if (endpoint.kind === 'stdio') return Object.values(endpoint.env);
  const { client_secret: secret, refresh_token: refresh } = endpoint.oauth ?? {};
  return [...Object.values(endpoint.headers), ...[secret, refresh].filter((text) => typeof text === 'string')];
}

const MAX_TOLD_CHARS = 500;

/** A failure in one line that may be told: without what is hidden, and short. */
export function toldFailure(error: unknown, hidden: readonly string[]): string {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  const text = error instanceof Error ? `${error.message}${cause}` : String(error);
  return hidden
    .reduce((told, secret) => told.replaceAll(secret, '[secret]'), text)
    .replace(/\s+/g, ' ')
    .slice(0, MAX_TOLD_CHARS);
}

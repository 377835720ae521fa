import { type Endpoint, referenceIn, urlFault } from './server-settings.js';

/** Reads an environment variable at the moment of its use. */
export type Variable = (name: string) => string | undefined;

export interface ResolvedEndpoint {
  readonly endpoint: Endpoint;
  /** Values that must not be shown or logged: those of variables, `env`, `headers` and secrets of OAuth. */
  readonly secrets: readonly string[];
  /** Referenced variables that are not set; they are replaced by empty texts. */
  readonly missing: readonly string[];
}

/** Replacing shorter values would hide ordinary words. */
const MIN_SECRET_CHARS = 6;

/**
 * Replaces references (`$NAME` as a whole text) by the current values of the variables. The result is for one connection
 * and is never stored.
 *
 * @throws {TypeError} when the variable of the URL does not hold a valid URL
 */
export function resolveEndpoint(endpoint: Endpoint, variable: Variable): ResolvedEndpoint {
  const secrets = new Set<string>(secretsOf(endpoint));
  const missing = new Set<string>();
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'string') return mapValues(value, resolve);
    const name = referenceIn(value);
    if (name === undefined) return value;
    const found = variable(name);
    if (found === undefined) missing.add(name);
    else secrets.add(found);
    return found ?? '';
  };
  const resolved = resolve(endpoint) as Endpoint;
  if (resolved.kind !== 'stdio') {
    const fault = urlFault(resolved.url);
    if (fault !== undefined) throw new TypeError(`url: ${fault}`);
  }
  return {
    endpoint: resolved,
    secrets: [...secrets].filter((text) => text.length >= MIN_SECRET_CHARS && referenceIn(text) === undefined),
    missing: [...missing],
  };
}

function mapValues(value: unknown, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]: [string, unknown]) => [key, change(item)]));
}

function secretsOf(endpoint: Endpoint): readonly string[] {
  if (endpoint.kind === 'stdio') return Object.values(endpoint.env);
  const { client_secret: secret, refresh_token: refresh } = endpoint.oauth ?? {};
  return [...Object.values(endpoint.headers), ...[secret, refresh].filter((text) => typeof text === 'string')];
}

const MAX_FAILURE_CHARS = 500;

/** Describes a failure in one short line without secrets. */
export function describeFailure(error: unknown, secrets: readonly string[]): string {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  const text = error instanceof Error ? `${error.message}${cause}` : String(error);
  return secrets
    .reduce((line, secret) => line.replaceAll(secret, '[secret]'), text)
    .replace(/\s+/g, ' ')
    .slice(0, MAX_FAILURE_CHARS);
}

import { type McpOAuth, UnavailableError } from '@caribou/contracts';
import type { Clock, TokenRecord } from '@caribou/core';
import type { Fetch } from './limited-fetch.js';

const TIMEOUT_MS = 15_000;
const DEFAULT_LIFE_SECONDS = 3_600;
const MAX_TOKEN_CHARS = 16_384;

export interface TokenRequestParts {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** The last refresh token of the server; it takes precedence over the configured one. */
  readonly rotated: string | undefined;
}

/**
 * Requests an access token (RFC 6749, 4.4 and 6).
 *
 * @throws {UnavailableError} with the reason, without any text of request or answer
 */
export async function requestToken(oauth: McpOAuth, parts: TokenRequestParts): Promise<TokenRecord> {
  if (oauth.grant_type === 'client_credentials') return recordOf(oauth, await ask(oauth, {}, parts), parts);
  const configured = oauth.refresh_token ?? '';
  const refresh = parts.rotated ?? configured;
  const withAuthorization = (token: string) => ask(oauth, { refresh_token: token }, parts);
  const answer = await withAuthorization(refresh).catch((error: unknown) => {
    // A token server that lost its newer tokens may still accept the configured one.
    if (refresh === configured || !(error instanceof TokenRefused)) throw error;
    return withAuthorization(configured);
  });
  return { refreshToken: refresh, ...recordOf(oauth, answer, parts) };
}

class TokenRefused extends UnavailableError {}

type Fields = Readonly<Record<string, unknown>>;

async function ask(
  oauth: McpOAuth,
  more: Readonly<Record<string, string>>,
  { fetch }: TokenRequestParts,
): Promise<Fields> {
  const { grant_type, client_id, client_secret, scope, audience, extra_token_params } = oauth;
  const given = { grant_type, client_id, client_secret, scope, audience, ...extra_token_params, ...more };
  const form = new URLSearchParams();
  for (const [key, value] of Object.entries(given)) if (typeof value === 'string' && value !== '') form.set(key, value);
  try {
    const response = await fetch(oauth.token_url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: form.toString(),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.ok) return fieldsOf(await response.json());
    await response.body?.cancel();
    const text = `the token server answered ${response.status}`;
    throw response.status < 500 ? new TokenRefused(text) : new UnavailableError(text);
  } catch (error) {
    if (error instanceof UnavailableError) throw error;
    throw new UnavailableError('the token server did not answer', { cause: error });
  }
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};

function recordOf(oauth: McpOAuth, answer: Fields, { clock }: TokenRequestParts): TokenRecord {
  const accessToken = textOf(answer[oauth.token_field]);
  if (accessToken === undefined)
    throw new UnavailableError(`the answer of the token server has no "${oauth.token_field}"`);
  const lifeMs = lifeSeconds(answer[oauth.expires_in_field]) * 1_000;
  // A token whose lifetime is shorter than the skew is used for half of it instead of being fetched for each request.
  const skewMs = Math.min(oauth.refresh_skew_seconds * 1_000, lifeMs / 2);
  const rotated = textOf(answer['refresh_token']);
  return {
    accessToken,
    tokenType: textOf(answer[oauth.token_type_field]) ?? oauth.default_token_type,
    freshUntilMs: clock.now() + lifeMs - skewMs,
    ...(oauth.grant_type === 'refresh_token' && rotated !== undefined ? { refreshToken: rotated } : {}),
  };
}

/** Returns the text if it is valid in a header. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= MAX_TOKEN_CHARS && /^[\x21-\x7e]+$/.test(value) ? value : undefined;

function lifeSeconds(value: unknown): number {
  const seconds = typeof value === 'string' ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_LIFE_SECONDS;
}

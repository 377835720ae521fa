import { createHash } from 'node:crypto';
import { type McpOAuth, newId, UnavailableError } from '@caribou/contracts';
import type { Clock, TokenRecord, TokenRecords } from '@caribou/core';
import type { Fetch } from './limited-fetch.js';
import { requestToken } from './token-request.js';

export interface AccessTokenParts {
  readonly records: TokenRecords;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

/** Time of the lock, longer than the timeout of a token request. */
const LOCK_MS = 20_000;
const POLL_MS = 200;
const MAX_POLLS = 150;

/**
 * The access token for one server, shared by all processes: a process fetches it under the server's lock and first checks
 * whether another has fetched it meanwhile. Replaced refresh tokens are stored with it.
 */
export class AccessTokens {
  private readonly name: string;
  private known: TokenRecord | undefined;
  private fetching: Promise<TokenRecord> | undefined;

  constructor(
    private readonly oauth: McpOAuth,
    private readonly parts: AccessTokenParts,
  ) {
    this.name = nameOf(oauth);
  }

  /**
   * Returns `<type> <token>` for the Authorization header, renewed before it expires and different from `refused`.
   *
   * @throws {UnavailableError} when no token can be obtained; its text contains no secret
   */
  async authorization(refused?: string): Promise<string> {
    const known = this.known;
    const record = known !== undefined && this.isUsable(known, refused) ? known : await this.fetchToken(refused);
    this.known = record;
    return headerOf(record);
  }

  /** Fetches once at a time. A fetch that is in progress may return the refused token. */
  private async fetchToken(refused: string | undefined): Promise<TokenRecord> {
    this.fetching ??= this.fetchLocked(refused).finally(() => (this.fetching = undefined));
    return this.fetching;
  }

  private async fetchLocked(refused: string | undefined): Promise<TokenRecord> {
    const { records, clock } = this.parts;
    const owner = newId();
    for (let poll = 0; poll < MAX_POLLS; poll += 1) {
      const claim = await records.claim(this.name, owner, LOCK_MS);
      if (claim.state === 'held') return await this.fetchWithLock(owner, claim.record, refused);
      await clock.sleep(POLL_MS);
    }
    throw new UnavailableError('another process takes too long to fetch the access token');
  }

  private async fetchWithLock(
    owner: string,
    stored: TokenRecord | null,
    refused: string | undefined,
  ): Promise<TokenRecord> {
    const { records } = this.parts;
    if (stored !== null && this.isUsable(stored, refused)) {
      await records.complete(this.name, owner, null);
      return stored;
    }
    const rotated = stored?.refreshToken;
    const record = await requestToken(this.oauth, { ...this.parts, rotated }).catch(async (error: unknown) => {
      await records.complete(this.name, owner, null);
      throw error;
    });
    // Assigned before it is stored: if that fails, the refresh token may already be used up.
    this.known = record;
    await records.complete(this.name, owner, record);
    return record;
  }

  private isUsable(record: TokenRecord, refused: string | undefined): boolean {
    return this.parts.clock.now() < record.freshUntilMs && headerOf(record) !== refused;
  }
}

const headerOf = ({ tokenType, accessToken }: TokenRecord): string => `${tokenType} ${accessToken}`;

/** Derives the name from the configuration, so that every change, also of the refresh token, leads to a new token. */
function nameOf(oauth: McpOAuth): string {
  const { token_url, grant_type, client_id, refresh_token, scope, audience, extra_token_params } = oauth;
  const parts = [token_url, grant_type, client_id, refresh_token, scope, audience, extra_token_params];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Sends each request with the token, and repeats it once with a new token when the server answers 401. */
export const withAuthorization =
  (fetch: Fetch, tokens: AccessTokens): Fetch =>
  async (url, init) => {
    const send = (authorization: string): Promise<Response> => {
      const headers = new Headers(init?.headers);
      headers.set('authorization', authorization);
      return fetch(url, { ...init, headers });
    };
    const first = await tokens.authorization();
    const response = await send(first);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    return await send(await tokens.authorization(first));
  };

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

/** Longer than a request for a token may take. */
const LOCK_MS = 20_000;
const LOOK_MS = 200;
const MAX_LOOKS = 150;

/**
 * The access token for one server. All processes share it: whoever fetches one holds the lock of the server, and finds
 * what another fetched meanwhile. Refresh tokens that the token server replaces are kept with it.
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
   * `<type> <token>` for the Authorization header, fetched anew before it expires; another one than `refused`.
   *
   * @throws {UnavailableError} when none can be had; its text holds no secret
   */
  async authorization(refused?: string): Promise<string> {
    const known = this.known;
    const record = known !== undefined && this.isGood(known, refused) ? known : await this.fetched(refused);
    this.known = record;
    return headerOf(record);
  }

  /** One fetch at a time. One that was under way already may give the very token that was refused. */
  private async fetched(refused: string | undefined): Promise<TokenRecord> {
    this.fetching ??= this.fetchLocked(refused).finally(() => (this.fetching = undefined));
    return this.fetching;
  }

  private async fetchLocked(refused: string | undefined): Promise<TokenRecord> {
    const { records, clock } = this.parts;
    const owner = newId();
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const claim = await records.claim(this.name, owner, LOCK_MS);
      if (claim.state === 'held') return await this.fetchHeld(owner, claim.record, refused);
      await clock.sleep(LOOK_MS);
    }
    throw new UnavailableError('the access token is being fetched by another process for too long');
  }

  private async fetchHeld(owner: string, kept: TokenRecord | null, refused: string | undefined): Promise<TokenRecord> {
    const { records } = this.parts;
    if (kept !== null && this.isGood(kept, refused)) {
      await records.complete(this.name, owner, null);
      return kept;
    }
    const rotated = kept?.refreshToken;
    const record = await requestToken(this.oauth, { ...this.parts, rotated }).catch(async (error: unknown) => {
      await records.complete(this.name, owner, null);
      throw error;
    });
    // Known here also when it cannot be kept for others: the refresh token it came by may be spent.
    this.known = record;
    await records.complete(this.name, owner, record);
    return record;
  }

  private isGood(record: TokenRecord, refused: string | undefined): boolean {
    return this.parts.clock.now() < record.freshUntilMs && headerOf(record) !== refused;
  }
}

const headerOf = ({ tokenType, accessToken }: TokenRecord): string => `${tokenType} ${accessToken}`;

/** Another configuration is another token, also when only the refresh token that it begins with is another. */
function nameOf(oauth: McpOAuth): string {
  const { token_url, grant_type, client_id, refresh_token, scope, audience, extra_token_params } = oauth;
  const parts = [token_url, grant_type, client_id, refresh_token, scope, audience, extra_token_params];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Sends each request with the token, and once more with another one when the server refuses it. */
export const authorizedFetch =
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

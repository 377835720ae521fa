/**
 * Port to access tokens shared by all processes, so that a rotated refresh token is replaced for all of them. A process
 * fetches a token under its lock; times are the store's clock.
 */
export interface TokenRecord {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Milliseconds since 1970, by the clock of the process that fetched it; after that time a new one is fetched. */
  readonly freshUntilMs: number;
  /** The newest one issued by the server; absent: the configured one. */
  readonly refreshToken?: string;
}

export type TokenClaim =
  | { readonly state: 'held'; readonly record: TokenRecord | null }
  /** Another process is fetching a token. */
  | { readonly state: 'busy' };

/** Every method throws UnavailableError when the store does not answer in time. */
export interface TokenRecords {
  read(name: string): Promise<TokenRecord | null>;
  /** Acquires the lock for `owner` and `lockMs`, unless another owner has it. */
  claim(name: string, owner: string, lockMs: number): Promise<TokenClaim>;
  /**
   * Stores the record unless it is null, and releases the lock. Returns false, without writing, when the lock was lost.
   */
  complete(name: string, owner: string, record: TokenRecord | null): Promise<boolean>;
}

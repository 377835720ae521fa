/**
 * Port to access tokens that all processes share, so that a refresh token that its server replaces is replaced for all.
 * Whoever fetches one holds its lock; times are the store's clock.
 */
export interface TokenRecord {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Milliseconds since 1970, by the clock of who fetched it: from then on another one is to be fetched. */
  readonly freshUntilMs: number;
  /** The newest one that its server gave; absent: the configured one. */
  readonly refreshToken?: string;
}

export type TokenClaim =
  | { readonly state: 'held'; readonly record: TokenRecord | null }
  /** Another process is fetching one. */
  | { readonly state: 'busy' };

/** Every method throws UnavailableError when the store does not answer in time. */
export interface TokenRecords {
  read(name: string): Promise<TokenRecord | null>;
  /** Takes the lock under `owner` for `lockMs`, unless another owner has it. */
  claim(name: string, owner: string, lockMs: number): Promise<TokenClaim>;
  /** Keeps the record, or leaves what there is (null), and gives the lock up. False when it was lost: nothing is written. */
  complete(name: string, owner: string, record: TokenRecord | null): Promise<boolean>;
}

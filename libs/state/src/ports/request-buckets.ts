/** How a bucket of tokens is filled, and what it holds. */
export interface BucketRate {
  readonly perSecond: number;
  /** Most tokens. */
  readonly burst: number;
  /** Fewest tokens; a negative number is a debt. */
  readonly lowest: number;
}

/** A bucket of one user or of one API key. */
export interface BucketName {
  readonly kind: 'user' | 'key';
  /** Any text; stored as a hash. */
  readonly id: string;
}

/** Port to token buckets that all gateways share. */
export interface RequestBuckets {
  /**
   * Takes tokens that were spent already. A bucket that is not known is full.
   *
   * @returns the tokens that are left
   * @throws {UnavailableError} when the store does not answer in time; the tokens may have been taken
   */
  spend(name: BucketName, tokens: number, rate: BucketRate): Promise<number>;
}

/** A limit of attempts of one kind by one source, such as wrong passwords for one account. */
export interface AttemptLimit {
  readonly kind: string;
  /** Any text; stored as a hash. */
  readonly name: string;
  readonly limit: number;
}

/** Port to counters of attempts that all processes share. Every method throws UnavailableError when the store does not answer in time. */
export interface AttemptStore {
  /**
   * Counts an attempt for each of the limits, before it is made; a window begins with its first attempt.
   *
   * @returns 0; or, when one of the limits is reached, milliseconds until the window ends, and nothing is counted
   */
  count(limits: readonly AttemptLimit[], windowMs: number): Promise<number>;
  /** Uncounts one successful attempt for each of the limits. */
  refund(limits: readonly AttemptLimit[]): Promise<void>;
}

/**
 * Port to what all processes know together of a model: whether it is worth calling (a circuit breaker) and how many
 * calls of it are under way.
 *
 * Circuit: closed → open after so many failed calls in a row → half-open after a while, when exactly one call may try
 * the model (the probe) → closed by its success, open again by its failure. While it is open, only the probe's outcome
 * changes it. A probe that ends without a verdict, or whose process died, makes room for another.
 * Slots: at most so many calls at once; who comes first is served first.
 */
export interface ModelGate {
  /**
   * Asks for one call. Waits for a slot for a bounded time, and says nothing to anybody meanwhile.
   * When the shared state cannot be reached the call is let through, and a warning is logged.
   *
   * Rejects with the signal's reason when it is aborted; nothing is held then.
   */
  acquire(endpoint: ModelEndpoint, signal: AbortSignal): Promise<AcquireResult>;
}

/** Where a model is called: calls of one model at one endpoint fail and are limited together. */
export interface ModelEndpoint {
  /** Host and path of the base URL. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
}

export type AcquireResult =
  | { readonly kind: 'admitted'; readonly permit: CallPermit }
  /** `retryInMs`: when asking again may be answered otherwise, as far as it is known. */
  | { readonly kind: 'refused'; readonly reason: 'circuit_open' | 'no_slot'; readonly retryInMs?: number };

/** The right to one call; kept alive until it is left, and gone a lease time after its process. */
export interface CallPermit {
  /** Others are refused until the outcome of this call is known. */
  readonly probe: boolean;
  /** Gives the right back and counts the outcome. Only the first call counts. Never rejects. */
  release(outcome: CallOutcome): Promise<void>;
}

/** `failed` is counted; `unknown` is what says nothing of the model's health: a cancel, or a fault of the request. */
export type CallOutcome = 'answered' | 'failed' | 'unknown';

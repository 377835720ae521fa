/**
 * Port to a circuit breaker and a limit of concurrent calls per model, shared by all processes.
 *
 * Circuit: closed → open after so many failed calls in a row → half-open after a while, when exactly one call may try
 * the model (the probe) → closed by its success, open again by its failure. While it is open, only the probe's outcome
 * changes it. A probe that ends without a verdict, or whose process died, is replaced by another. Slots: a limit of
 * concurrent calls, granted to users in turn, and of one user in order of arrival.
 */
export interface ModelGate {
  /**
   * Acquires a permit for one call. Waits for a slot for a bounded time. When the shared state cannot be reached, the
   * call is permitted and a warning is logged.
   *
   * Rejects with the signal's reason when it is aborted, without holding a slot.
   */
  acquire(endpoint: ModelEndpoint, call: CallOf): Promise<AcquireResult>;
}

/** For whom a model is called, and until when. */
export interface CallOf {
  readonly userId: string;
  readonly signal: AbortSignal;
}

/** Identifies a model at a provider: its calls share one circuit and one limit. */
export interface ModelEndpoint {
  /** Host and path of the base URL. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
}

export type AcquireResult =
  | { readonly kind: 'admitted'; readonly permit: CallPermit }
  /** `retryInMs`: when another attempt may succeed, if known. */
  | { readonly kind: 'refused'; readonly reason: 'circuit_open' | 'no_slot'; readonly retryInMs?: number };

/** Permission for one call, renewed until it is released; it expires one lease time after its process died. */
export interface CallPermit {
  /** Other calls are refused until the outcome of this one is known. */
  readonly probe: boolean;
  /** Releases the permit and counts the outcome. Only the first call has an effect. Never rejects. */
  release(outcome: CallOutcome): Promise<void>;
}

/** `failed` is counted; `unknown` does not reflect the model's health, such as a cancel or an invalid request. */
export type CallOutcome = 'answered' | 'failed' | 'unknown';

import type { ModelError } from '@caribou/contracts';

/** Why a model call failed; determines what happens next and the text for the user. */
export type FailureReason =
  | 'quota'
  | 'auth'
  | 'busy'
  | 'silent'
  | 'transient'
  | 'too_long'
  | 'not_configured'
  | 'circuit_open'
  | 'no_slot'
  | 'too_large'
  | 'request';

export interface Failure {
  readonly reason: FailureReason;
  /** Maximum attempts for such a failure, including the first: 1 is no retry, 'all' is what the options allow. */
  readonly attempts: 'all' | 1 | 2;
  /**
   * Whether the circuit breaker counts it, because it shows that the model is down and not that the request or account
   * is invalid.
   */
  readonly counts: boolean;
  /** Uses a longer back-off, as the provider limits the call rate. */
  readonly slow?: boolean;
  /** The provider's requested delay, if given. */
  readonly retryAfterMs?: number;
}

/** Retried statuses below 500: the request was too early, too slow or one of too many. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** Statuses that another attempt would get again: not implemented, HTTP version. */
const LASTING_STATUSES: ReadonlySet<number> = new Set([501, 505]);

/** Whether a status is temporary; servers and proxies use further ones from 500 on, such as 520 to 524 and 529. */
const passesSoon = (status: number): boolean =>
  RETRIED_STATUSES.has(status) || (status >= 500 && !LASTING_STATUSES.has(status));

/** Verdicts by `details.reason`, of the model adapter or of the gate before it. */
const verdicts: Readonly<Record<string, Failure>> = {
  quota: { reason: 'quota', attempts: 1, counts: false },
  auth: { reason: 'auth', attempts: 1, counts: false },
  not_configured: { reason: 'not_configured', attempts: 1, counts: false },
  context_length: { reason: 'too_long', attempts: 1, counts: false },
  circuit_open: { reason: 'circuit_open', attempts: 1, counts: false },
  no_slot: { reason: 'no_slot', attempts: 1, counts: false },
  too_large: { reason: 'too_large', attempts: 1, counts: false },
  rate_limited: { reason: 'busy', attempts: 'all', counts: true },
  burst: { reason: 'busy', attempts: 2, counts: false, slow: true },
  first_byte_timeout: { reason: 'silent', attempts: 2, counts: true },
  chunk_timeout: { reason: 'silent', attempts: 2, counts: true },
};

const TRANSIENT: Failure = { reason: 'transient', attempts: 'all', counts: true };
const REFUSED: Failure = { reason: 'request', attempts: 1, counts: false };

/**
 * What to do about a failed model call. A reason without its own verdict is retried when the adapter calls it retryable
 * and its status, if any, is temporary.
 */
export function judgeFailure(error: ModelError): Failure {
  const { reason, providerStatus, retryAfterMs } = error.details;
  const known = typeof reason === 'string' ? verdicts[reason] : undefined;
  const passes = error.retryable && (typeof providerStatus !== 'number' || passesSoon(providerStatus));
  const verdict = known ?? (passes ? TRANSIENT : REFUSED);
  return typeof retryAfterMs === 'number' ? { ...verdict, retryAfterMs } : verdict;
}

/** A short description for logs and clients: the adapter's reason and the status, never the provider's text. */
export function failureDetail(error: ModelError): string {
  const { reason, providerStatus } = error.details;
  const word = typeof reason === 'string' && /^[a-z_]{1,40}$/.test(reason) ? reason : 'unknown';
  return typeof providerStatus === 'number' ? `${word} (HTTP ${providerStatus})` : word;
}

/** The text for the user instead of the answer. The provider's text follows it only if configured. */
export const failureText: Readonly<Record<FailureReason, string>> = {
  quota:
    'The model provider refused the request because the account is out of quota. Please check billing and try again.',
  auth: 'The model provider refused the credentials. Please check the API key and access rights, then try again.',
  busy: 'The model is overloaded at the moment and did not answer after several attempts. Please try again shortly.',
  silent: 'The model stopped answering in time. Please try again.',
  transient: 'The model could not be reached after several attempts. Please try again shortly.',
  too_long: 'This conversation is longer than the model can read. Please start a new one or choose another model.',
  not_configured: 'The model is not configured. Please set its API key and try again.',
  circuit_open:
    'The model has failed several times in a row, so it is not called for a short while. Please try again in a minute.',
  no_slot: 'Too many model calls are under way at the moment. Please try again shortly.',
  too_large:
    'The model sent more data for one answer than is allowed (1 GiB in all, 16 MiB in one piece). Please ask for less at once.',
  request: 'The model provider did not accept the request. Please change the request or the model and try again.',
};

/** The text for the user while waiting for a retry. */
export const retryText: Readonly<Record<FailureReason, string>> = {
  ...failureText,
  busy: 'The model is busy; trying again.',
  silent: 'The model stopped answering; trying again.',
  transient: 'The connection to the model failed; trying again.',
};

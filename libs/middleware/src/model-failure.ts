import type { ModelError } from '@caribou/contracts';

/** Why a model call failed, as far as it decides what happens next and what the person is told. */
export type FailureReason =
  | 'quota'
  | 'auth'
  | 'busy'
  | 'silent'
  | 'transient'
  | 'too_long'
  | 'not_configured'
  | 'request';

export interface Failure {
  readonly reason: FailureReason;
  /** Attempts such a failure is worth, the first included: 1 is no retry, 'all' what the options allow. */
  readonly attempts: 'all' | 1 | 2;
  /** Back-off is longer: the provider asked for fewer calls, not for a pause. */
  readonly slow?: boolean;
  /** The provider's own wish, when it gave one. */
  readonly retryAfterMs?: number;
}

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

/** Verdicts by the model adapter's `details.reason`. */
const verdicts: Readonly<Record<string, Failure>> = {
  quota: { reason: 'quota', attempts: 1 },
  auth: { reason: 'auth', attempts: 1 },
  not_configured: { reason: 'not_configured', attempts: 1 },
  context_length: { reason: 'too_long', attempts: 1 },
  rate_limited: { reason: 'busy', attempts: 'all' },
  burst: { reason: 'busy', attempts: 2, slow: true },
  first_byte_timeout: { reason: 'silent', attempts: 2 },
  chunk_timeout: { reason: 'silent', attempts: 2 },
};

/**
 * What to do about a failed model call. A reason without a verdict of its own is tried again when
 * the adapter calls it retryable and its status, if one came back, is one that passes.
 */
export function judgeFailure(error: ModelError): Failure {
  const { reason, providerStatus, retryAfterMs } = error.details;
  const known = typeof reason === 'string' ? verdicts[reason] : undefined;
  const passes = error.retryable && (typeof providerStatus !== 'number' || RETRIED_STATUSES.has(providerStatus));
  const verdict = known ?? (passes ? { reason: 'transient', attempts: 'all' } : { reason: 'request', attempts: 1 });
  return typeof retryAfterMs === 'number' ? { ...verdict, retryAfterMs } : verdict;
}

/** The failure in a few words for logs and clients: the adapter's reason and the status, nothing the provider wrote. */
export function failureDetail(error: ModelError): string {
  const { reason, providerStatus } = error.details;
  const word = typeof reason === 'string' && /^[a-z_]{1,40}$/.test(reason) ? reason : 'unknown';
  return typeof providerStatus === 'number' ? `${word} (HTTP ${providerStatus})` : word;
}

/** What the person reads in the place of the answer. Nothing of the provider's own text: it may hold keys or prompts. */
export const fallbackText: Readonly<Record<FailureReason, string>> = {
  quota:
    'The model provider refused the request because the account is out of quota. Please check billing and try again.',
  auth: 'The model provider refused the credentials. Please check the API key and access rights, then try again.',
  busy: 'The model is overloaded at the moment and did not answer after several attempts. Please try again shortly.',
  silent: 'The model stopped answering in time. Please try again.',
  transient: 'The model could not be reached after several attempts. Please try again shortly.',
  too_long: 'This conversation is longer than the model can read. Please start a new one or choose another model.',
  not_configured: 'The model is not configured. Please set its API key and try again.',
  request: 'The model provider did not accept the request. Please change the request or the model and try again.',
};

/** What the person reads while a retry is waited for. */
export const retryText: Readonly<Record<FailureReason, string>> = {
  ...fallbackText,
  busy: 'The model is busy; trying again.',
  silent: 'The model stopped answering; trying again.',
  transient: 'The connection to the model failed; trying again.',
};

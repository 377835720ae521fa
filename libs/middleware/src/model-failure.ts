import type { ModelError } from '@caribou/contracts';

/** Why a model call failed, as far as it decides what happens next and what the person is told. */
export type FailureReason = 'quota' | 'auth' | 'busy' | 'silent' | 'transient' | 'request';

export interface Failure {
  readonly reason: FailureReason;
  /** Attempts such a failure is worth, the first included; 1 is no retry. */
  readonly attempts: 'all' | 1 | 2;
  /** The provider's own wish, when it gave one. */
  readonly retryAfterMs?: number;
}

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

/** What to do about a failed model call (behaviour.md §2.7). The adapter's `retryable` decides where no status came back. */
export function judgeFailure(error: ModelError): Failure {
  const status = numberOf(error.details['providerStatus']);
  const given = error.details['reason'];
  const reason = typeof given === 'string' ? given : '';
  const retryAfterMs = numberOf(error.details['retryAfterMs']);
  return { ...verdict(status, reason, error.retryable), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

function verdict(status: number | undefined, reason: string, retryable: boolean): Failure {
  if (/quota|billing|insufficient/i.test(reason) || status === 402) return { reason: 'quota', attempts: 1 };
  if (/auth|permission|api.?key/i.test(reason) || status === 401 || status === 403)
    return { reason: 'auth', attempts: 1 };
  if (status !== undefined) return verdictOfStatus(status);
  if (/silen|idle|first.?byte|between.?chunks/i.test(reason)) return { reason: 'silent', attempts: 2 };
  return retryable ? { reason: 'transient', attempts: 'all' } : { reason: 'request', attempts: 1 };
}

function verdictOfStatus(status: number): Failure {
  if (status === 429 || status === 503) return { reason: 'busy', attempts: 'all' };
  if (RETRIED_STATUSES.has(status)) return { reason: 'transient', attempts: 'all' };
  return { reason: status < 500 ? 'request' : 'transient', attempts: 1 };
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** What the person reads in the place of the answer. Nothing of the provider's own text: it may hold keys or prompts. */
export const fallbackText: Readonly<Record<FailureReason, string>> = {
  quota:
    'The model provider refused the request because the account is out of quota. Please check billing and try again.',
  auth: 'The model provider refused the credentials. Please check the API key and access rights, then try again.',
  busy: 'The model is overloaded at the moment and did not answer after several attempts. Please try again shortly.',
  silent: 'The model stopped answering in time. Please try again.',
  transient: 'The model could not be reached after several attempts. Please try again shortly.',
  request: 'The model provider did not accept the request. Please change the request or the model and try again.',
};

/** What the person reads while a retry is waited for. */
export const retryText: Readonly<Record<FailureReason, string>> = {
  quota: 'The model provider is out of quota.',
  auth: 'The model provider refused the credentials.',
  busy: 'The model is busy; trying again.',
  silent: 'The model stopped answering; trying again.',
  transient: 'The connection to the model failed; trying again.',
  request: 'The model provider did not accept the request.',
};

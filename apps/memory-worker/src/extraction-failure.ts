import { ModelError, UnavailableError } from '@caribou/contracts';
import type { MemoryJob } from '@caribou/core';

/** The cause of a failed extraction: the conversation, or a model that is not available at present. */
export type Fault = 'conversation' | 'model';

/** Reasons that will recur with the same conversation; all others are temporary. */
const RECURRING: ReadonlySet<unknown> = new Set([
  'bad_answer',
  'length',
  'content_filter',
  'context_length',
  'too_large',
  'bad_request',
]);

export interface RetryLimits {
  readonly maxAttempts: number;
  readonly baseDelayMs: number;
  readonly capDelayMs: number;
  /** A thread that fails for this long is dead-lettered, whatever the cause. */
  readonly giveUpMs: number;
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number; readonly failed: 'counts' | 'away' }
  | { readonly kind: 'dead-letter'; readonly reason: string };

export function faultOf(error: unknown): Fault {
  if (error instanceof ModelError) return RECURRING.has(error.details['reason']) ? 'conversation' : 'model';
  return error instanceof UnavailableError ? 'model' : 'conversation';
}

/**
 * Decides what to do with a thread whose extraction failed. Delays double, with up to 10 % jitter either way. While the
 * model is unavailable the extraction is retried at growing intervals for up to `giveUpMs`, and attempts do not count.
 */
export function decideRetry(
  error: unknown,
  { attempts, failingMs }: Pick<MemoryJob, 'attempts' | 'failingMs'>,
  limits: RetryLimits,
  random: () => number = Math.random,
): RetryDecision {
  const fault = faultOf(error);
  const ownFault = fault === 'conversation';
  if (failingMs >= limits.giveUpMs || (ownFault && attempts + 1 >= limits.maxAttempts))
    return { kind: 'dead-letter', reason: reasonOf(error) };
  const doubledMs = ownFault ? limits.baseDelayMs * 2 ** Math.min(attempts, 20) : failingMs;
  const waitMs = Math.min(Math.max(doubledMs, limits.baseDelayMs, readRetryAfterMs(error)), limits.capDelayMs);
  return { kind: 'retry', delayMs: Math.round(waitMs * (0.9 + 0.2 * random())), failed: ownFault ? 'counts' : 'away' };
}

/** The delay that the provider or the model gate asks for, in milliseconds; 0 without one. */
const readRetryAfterMs = (error: unknown): number => {
  const delayMs = error instanceof ModelError ? error.details['retryAfterMs'] : undefined;
  return typeof delayMs === 'number' ? delayMs : 0;
};

/** Describes the failure without any text of the conversation, the answer or the provider. */
export function reasonOf(error: unknown): string {
  if (error instanceof ModelError) {
    const { reason } = error.details;
    return `the model: ${typeof reason === 'string' ? reason : 'failed'}`;
  }
  return error instanceof UnavailableError ? 'the model is not configured' : 'an internal error';
}

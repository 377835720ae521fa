import { ModelError, UnavailableError } from '@caribou/contracts';
import type { MemoryJob } from '@caribou/core';

/** Whose fault a failed reading is: the conversation's, or that of a model that cannot be asked at present. */
export type Fault = 'conversation' | 'model';

/** Reasons that come again with the same conversation; every other one passes when the model is back. */
const CONVERSATION: ReadonlySet<unknown> = new Set([
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
  /** Failing for this long ends it, whoever's fault it is. */
  readonly giveUpMs: number;
}

export type Verdict =
  | { readonly kind: 'retry'; readonly delayMs: number; readonly failed: 'counts' | 'away' }
  | { readonly kind: 'bury'; readonly reason: string };

export function faultOf(error: unknown): Fault {
  if (error instanceof ModelError) return CONVERSATION.has(error.details['reason']) ? 'conversation' : 'model';
  return error instanceof UnavailableError ? 'model' : 'conversation';
}

/**
 * What to do with a thread whose reading failed. Waits double, with a fifth of chance in them; a model that is away is
 * asked again at growing intervals for as long as `giveUpMs`, and no attempt is counted.
 */
export function judge(
  error: unknown,
  { attempts, failingMs }: Pick<MemoryJob, 'attempts' | 'failingMs'>,
  limits: RetryLimits,
  random: () => number = Math.random,
): Verdict {
  const fault = faultOf(error);
  const ownFault = fault === 'conversation';
  if (failingMs >= limits.giveUpMs || (ownFault && attempts + 1 >= limits.maxAttempts))
    return { kind: 'bury', reason: reasonOf(error) };
  const doubledMs = ownFault ? limits.baseDelayMs * 2 ** Math.min(attempts, 20) : failingMs;
  const waitMs = Math.min(Math.max(doubledMs, limits.baseDelayMs, wishOf(error)), limits.capDelayMs);
  return { kind: 'retry', delayMs: Math.round(waitMs * (0.9 + 0.2 * random())), failed: ownFault ? 'counts' : 'away' };
}

/** How long the provider, or the gate before it, wants to be left alone; milliseconds. */
const wishOf = (error: unknown): number => {
  const wish = error instanceof ModelError ? error.details['retryAfterMs'] : undefined;
  return typeof wish === 'number' ? wish : 0;
};

/** The failure in a few words of ours: nothing of the conversation, the answer or the provider. */
export function reasonOf(error: unknown): string {
  if (error instanceof ModelError) {
    const { reason } = error.details;
    return `the model: ${typeof reason === 'string' ? reason : 'failed'}`;
  }
  return error instanceof UnavailableError ? 'the model is not configured' : 'an internal error';
}

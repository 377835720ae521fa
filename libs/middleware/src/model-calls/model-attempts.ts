import type { ChainConfig } from '@caribou/config';
import { type AiMessage, ModelError, omitUndefined } from '@caribou/contracts';
import {
  type AcquireResult,
  type CallOutcome,
  memoize,
  type ModelCallNext,
  type ModelEndpoint,
  type ModelGate,
  type ModelRequest,
  type RunContext,
} from '@caribou/core';
import { refusalError } from './gated-model.js';
import { type Failure, judgeFailure, retryText } from './model-failure.js';

export interface RetryOptions {
  /** Attempts of one model call, the first included. */
  readonly maxAttempts?: number;
  readonly baseDelayMs?: number;
  /** Base of the back-off when the provider limits the call rate. */
  readonly burstBaseDelayMs?: number;
  /** Maximum of the computed back-off; a provider's Retry-After is respected up to `maxRetryAfterMs`. */
  readonly maxDelayMs?: number;
  readonly maxRetryAfterMs?: number;
  /** A model that has fallbacks and asks for a longer wait than this is not called again. */
  readonly fallbackAfterMs?: number;
  /** Source of the jitter, in [0, 1). */
  readonly random?: () => number;
}

type Backoff = Required<RetryOptions>;

const DEFAULTS: Backoff = {
  maxAttempts: 3,
  baseDelayMs: 1000,
  burstBaseDelayMs: 5000,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
  fallbackAfterMs: 10_000,
  random: Math.random,
};

/** Retry settings of model calls, from section `llm_call` of config.yaml. */
export const retryOptions = (section: RetrySection = NO_SECTION): RetryOptions => readRetries(section);

type RetrySection = Partial<ChainConfig['llm_call']>;
const NO_SECTION: NonNullable<RetrySection> = {};
const readRetries = memoize(
  (section: NonNullable<RetrySection>): RetryOptions =>
    omitUndefined({
      maxAttempts: section.retry_max_attempts,
      baseDelayMs: section.retry_base_delay_ms,
      maxDelayMs: section.retry_cap_delay_ms,
      burstBaseDelayMs: section.burst_retry_base_delay_ms,
      fallbackAfterMs: section.fallback_after_ms,
    }),
);

/** A model call with its retries. */
export interface RetriedCall {
  readonly request: ModelRequest;
  readonly next: ModelCallNext;
  readonly run: RunContext;
  /** Limits and circuit of the model; without it no attempt is limited. */
  readonly gated: { readonly gate: ModelGate; readonly endpoint: ModelEndpoint } | undefined;
  /** Whether another model may answer instead, so that long waits are not worth it. */
  readonly hasFallback: boolean;
  readonly options: RetryOptions;
}

/** An answer, or why the last attempt failed. */
export type CallResult = { readonly message: AiMessage } | { readonly error: ModelError; readonly failure: Failure };

/**
 * Calls one model until it answers or its attempts are used up. Each attempt acquires its own permit, so waiting for the
 * next one holds no slot. The circuit counts a call once, when its last attempt fails; its probe is a single attempt.
 *
 * @throws other errors than ModelError, and any error once the run was aborted
 */
export async function callWithRetries(call: RetriedCall): Promise<CallResult> {
  const { run } = call;
  const backoff = { ...DEFAULTS, ...call.options };
  let delayMs = backoff.baseDelayMs;
  for (let attempt = 1; ; attempt += 1) {
    const tried = await tryOnce({ ...call, attempt, backoff });
    if ('message' in tried) return tried;
    const { error, failure, maxAttempts } = tried;
    const { reason } = failure;
    run.logger.warn({ model: call.request.model, attempt, maxAttempts, reason, error }, 'model call failed');
    if (attempt >= maxAttempts) return tried;
    delayMs = nextDelayMs(delayMs, failure.slow === true ? slower(backoff) : backoff);
    run.recordDecision('llm-error', 'retry', { attempt, reason });
    await waitForRetry(run, { failure, attempt, maxAttempts, waitMs: waitOf(failure, delayMs, backoff) });
  }
}

interface Attempt extends RetriedCall {
  /** Number of the attempt, starting at 1. */
  readonly attempt: number;
  readonly backoff: Backoff;
}

interface FailedAttempt {
  readonly error: ModelError;
  readonly failure: Failure;
  readonly maxAttempts: number;
}

/** Makes one attempt under the gate. */
async function tryOnce(call: Attempt): Promise<{ readonly message: AiMessage } | FailedAttempt> {
  const { request, next, run, gated, attempt } = call;
  const entry = gated === undefined ? UNGATED : await gated.gate.acquire(gated.endpoint, run);
  if (entry.kind === 'refused') return toFailedAttempt(refusalError(entry), call);
  let outcome: CallOutcome = 'unknown';
  try {
    const message = await next(request);
    outcome = 'answered';
    return { message };
  } catch (error) {
    if (run.signal.aborted || !(error instanceof ModelError)) throw error;
    const failed = toFailedAttempt(error, call);
    if (!failed.failure.counts) return failed;
    const isLast = entry.permit.probe || attempt >= failed.maxAttempts;
    if (isLast) outcome = 'failed';
    return isLast ? { ...failed, maxAttempts: attempt } : failed;
  } finally {
    await entry.permit.release(outcome);
  }
}

const UNGATED: AcquireResult = { kind: 'admitted', permit: { probe: false, release: () => Promise.resolve() } };

/** A model with a fallback is not waited for beyond a bound. */
function toFailedAttempt(error: ModelError, { attempt, backoff, hasFallback }: Attempt): FailedAttempt {
  const failure = judgeFailure(error);
  const allowed = failure.attempts === 'all' ? backoff.maxAttempts : Math.min(failure.attempts, backoff.maxAttempts);
  const isTooLong = hasFallback && (failure.retryAfterMs ?? 0) > backoff.fallbackAfterMs;
  return { error, failure, maxAttempts: isTooLong ? attempt : allowed };
}

/** Decorrelated jitter: between the base and three times the delay before, at most the cap. */
export const nextDelayMs = (
  previousMs: number,
  backoff: Pick<Backoff, 'baseDelayMs' | 'maxDelayMs' | 'random'>,
): number => {
  const highest = Math.min(backoff.maxDelayMs, Math.max(backoff.baseDelayMs, previousMs * 3));
  const lowest = Math.min(backoff.baseDelayMs, highest);
  return Math.round(lowest + backoff.random() * (highest - lowest));
};

const slower = (backoff: Backoff): Backoff => ({
  ...backoff,
  baseDelayMs: backoff.burstBaseDelayMs,
});

const waitOf = (failure: Failure, delayMs: number, backoff: Backoff): number =>
  failure.retryAfterMs === undefined ? delayMs : Math.min(Math.max(0, failure.retryAfterMs), backoff.maxRetryAfterMs);

interface Retry {
  readonly failure: Failure;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly waitMs: number;
}

async function waitForRetry(run: RunContext, { failure, attempt, maxAttempts, waitMs }: Retry): Promise<void> {
  await run.emit({
    kind: 'custom',
    data: {
      type: 'llm_retry',
      attempt,
      max_attempts: maxAttempts,
      wait_ms: waitMs,
      reason: failure.reason,
      message: retryText[failure.reason],
    },
  });
  await run.clock.sleep(waitMs, run.signal);
}

import type { ChainConfig } from '@caribou/config';
import { type AiMessage, ModelError, newId, omitUndefined } from '@caribou/contracts';
import type {
  AgentMiddleware,
  CallOutcome,
  AcquireResult,
  ModelCallNext,
  ModelEndpoint,
  ModelGate,
  ModelRequest,
  RunContext,
} from '@caribou/core';
import { refusalError } from './gated-model.js';
import { type Failure, failureDetail, fallbackText, judgeFailure, retryText } from './model-failure.js';

export interface LlmErrorOptions {
  /** Attempts of one model call, the first included. */
  readonly maxAttempts?: number;
  readonly baseDelayMs?: number;
  /** Base of the back-off when the provider limits the call rate. */
  readonly burstBaseDelayMs?: number;
  /** Maximum of the computed back-off; a provider's Retry-After is respected up to `maxRetryAfterMs`. */
  readonly maxDelayMs?: number;
  readonly maxRetryAfterMs?: number;
  /** Source of the jitter, in [0, 1). */
  readonly random?: () => number;
  /** Whether the provider's error text is shown to the user. */
  readonly showProviderText?: boolean;
  /** The gate and the model's endpoint; without it no attempt is limited. */
  readonly gated?: GatedEndpoint;
}

export interface GatedEndpoint {
  readonly gate: ModelGate;
  readonly endpoint: ModelEndpoint;
}

type Backoff = Required<Omit<LlmErrorOptions, 'gated' | 'showProviderText'>>;

const DEFAULTS: Backoff = {
  maxAttempts: 3,
  baseDelayMs: 1000,
  burstBaseDelayMs: 5000,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
  random: Math.random,
};

/** Retry settings of model calls, from section `llm_call` of config.yaml. */
export const retryOptions = (section: Partial<ChainConfig['llm_call']> = {}): LlmErrorOptions =>
  omitUndefined({
    maxAttempts: section.retry_max_attempts,
    baseDelayMs: section.retry_base_delay_ms,
    maxDelayMs: section.retry_cap_delay_ms,
    burstBaseDelayMs: section.burst_retry_base_delay_ms,
    showProviderText: section.show_provider_error,
  });

/**
 * Retries failed model calls, and returns a fallback answer when all attempts have failed: a visible message marked
 * `deerflow_error_fallback`, by which the loop ends the run as an error. Only ModelError is handled; a cancel or a lost
 * run is rethrown.
 *
 * Each attempt acquires its own permit, so waiting for the next one holds no slot. The circuit counts a call once, when
 * its last attempt fails; its probe is a single attempt.
 */
export function llmError({ gated, showProviderText = false, ...options }: LlmErrorOptions = {}): AgentMiddleware {
  const backoff = { ...DEFAULTS, ...options };
  return {
    name: 'llm-error',
    async wrapModelCall(request, next, run) {
      let delayMs = backoff.baseDelayMs;
      for (let attempt = 1; ; attempt += 1) {
        const tried = await tryOnce({ request, next, run, gated, attempt, backoff });
        if ('message' in tried) return tried.message;
        const { error, failure, maxAttempts } = tried;
        const { reason } = failure;
        run.logger.warn({ attempt, maxAttempts, reason, error }, 'model call failed');
        run.recordDecision('llm-error', attempt < maxAttempts ? 'retry' : 'fallback', { attempt, reason });
        if (attempt >= maxAttempts) return fallbackMessage(error, { run, reason, showProviderText });
        delayMs = nextDelayMs(delayMs, failure.slow === true ? slower(backoff) : backoff);
        await waitForRetry(run, { failure, attempt, maxAttempts, waitMs: waitOf(failure, delayMs, backoff) });
      }
    },
  };
}

interface Attempt {
  readonly request: ModelRequest;
  readonly next: ModelCallNext;
  readonly run: RunContext;
  readonly gated: GatedEndpoint | undefined;
  /** Number of the attempt, starting at 1. */
  readonly attempt: number;
  readonly backoff: Backoff;
}

type Tried = { readonly message: AiMessage } | FailedAttempt;

interface FailedAttempt {
  readonly error: ModelError;
  readonly failure: Failure;
  readonly maxAttempts: number;
}

/** Makes one attempt under the gate. @throws other errors than ModelError, and any error once the run was aborted. */
async function tryOnce({ request, next, run, gated, attempt, backoff }: Attempt): Promise<Tried> {
  const entry = gated === undefined ? UNGATED : await gated.gate.acquire(gated.endpoint, run.signal);
  if (entry.kind === 'refused') return toFailedAttempt(refusalError(entry), backoff);
  let outcome: CallOutcome = 'unknown';
  try {
    const message = await next(request);
    outcome = 'answered';
    return { message };
  } catch (error) {
    if (run.signal.aborted || !(error instanceof ModelError)) throw error;
    const failed = toFailedAttempt(error, backoff);
    if (!failed.failure.counts) return failed;
    const isLast = entry.permit.probe || attempt >= failed.maxAttempts;
    if (isLast) outcome = 'failed';
    return isLast ? { ...failed, maxAttempts: attempt } : failed;
  } finally {
    await entry.permit.release(outcome);
  }
}

const UNGATED: AcquireResult = { kind: 'admitted', permit: { probe: false, release: () => Promise.resolve() } };

function toFailedAttempt(error: ModelError, { maxAttempts }: Backoff): FailedAttempt {
  const failure = judgeFailure(error);
  return {
    error,
    failure,
    maxAttempts: failure.attempts === 'all' ? maxAttempts : Math.min(failure.attempts, maxAttempts),
  };
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

interface Fallback {
  readonly run: RunContext;
  readonly reason: Failure['reason'];
  readonly showProviderText: boolean;
}

function fallbackMessage(error: ModelError, { run, reason, showProviderText }: Fallback): AiMessage {
  const { providerText } = error.details;
  const shown = showProviderText && typeof providerText === 'string' ? `\n\nThe provider wrote: ${providerText}` : '';
  return {
    type: 'ai',
    id: newId(),
    content: fallbackText[reason] + shown,
    additional_kwargs: {
      deerflow_error_fallback: true,
      error_type: error.name,
      error_reason: reason,
      error_detail: failureDetail(error),
      run_id: run.runId,
    },
    response_metadata: {},
    tool_calls: [],
    invalid_tool_calls: [],
  };
}

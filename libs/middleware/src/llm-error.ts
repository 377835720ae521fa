import { type AiMessage, ModelError, newId } from '@caribou/contracts';
import type { AgentMiddleware, RunContext } from '@caribou/core';
import { type Failure, failureDetail, fallbackText, judgeFailure, retryText } from './model-failure.js';

export interface LlmErrorOptions {
  /** Attempts of one model call, the first included. */
  readonly maxAttempts?: number;
  readonly baseDelayMs?: number;
  /** Cap of our own back-off; a provider's Retry-After is followed up to `maxRetryAfterMs`. */
  readonly maxDelayMs?: number;
  readonly maxRetryAfterMs?: number;
  /** In [0, 1): the source of the jitter. */
  readonly random?: () => number;
}

type Backoff = Required<LlmErrorOptions>;

const DEFAULTS: Backoff = {
  maxAttempts: 3,
  baseDelayMs: 1000,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
  random: Math.random,
};

/**
 * Calls a failing model again, and answers in its place when it fails for good: a visible message marked
 * `deerflow_error_fallback`, by which the loop ends the run as an error. Only ModelError is handled; a cancel or a
 * lost run passes.
 */
export function llmError(options: LlmErrorOptions = {}): AgentMiddleware {
  const backoff = { ...DEFAULTS, ...options };
  return {
    name: 'llm-error',
    async wrapModelCall(request, next, run) {
      let delayMs = backoff.baseDelayMs;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await next(request);
        } catch (error) {
          if (run.signal.aborted || !(error instanceof ModelError)) throw error;
          const failure = judgeFailure(error);
          const maxAttempts =
            failure.attempts === 'all' ? backoff.maxAttempts : Math.min(failure.attempts, backoff.maxAttempts);
          run.logger.warn({ attempt, maxAttempts, reason: failure.reason, err: error }, 'model call failed');
          if (attempt >= maxAttempts) return fallbackMessage(error, failure);
          delayMs = nextDelayMs(delayMs, failure.slow === true ? slower(backoff) : backoff);
          await waitForRetry(run, { failure, attempt, maxAttempts, waitMs: waitOf(failure, delayMs, backoff) });
        }
      }
    },
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

const BURST_BASE_DELAY_MS = 5000;

const slower = (backoff: Backoff): Backoff => ({
  ...backoff,
  baseDelayMs: Math.min(BURST_BASE_DELAY_MS, backoff.maxDelayMs),
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

function fallbackMessage(error: ModelError, { reason }: Failure): AiMessage {
  return {
    type: 'ai',
    id: newId(),
    content: fallbackText[reason],
    additional_kwargs: {
      deerflow_error_fallback: true,
      error_type: error.name,
      error_reason: reason,
      error_detail: failureDetail(error),
    },
    response_metadata: {},
    tool_calls: [],
    invalid_tool_calls: [],
  };
}

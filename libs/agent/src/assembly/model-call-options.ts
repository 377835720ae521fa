import type { ChainConfig } from '@caribou/config';
import type { ChainOptions } from '@caribou/middleware';

type RetryOptions = NonNullable<ChainOptions['llmError']>;

/** How often and how fast a failed model call is made again. */
export const retryOptions = (call: ChainConfig['llm_call']): RetryOptions => ({
  maxAttempts: call.retry_max_attempts,
  baseDelayMs: call.retry_base_delay_ms,
  maxDelayMs: call.retry_cap_delay_ms,
  burstBaseDelayMs: call.burst_retry_base_delay_ms,
  showProviderText: call.show_provider_error,
});

/** Limits of the gate before all models of an installation. */
export const modelGateLimits = ({
  llm_call: call,
  circuit_breaker: breaker,
}: Pick<ChainConfig, 'llm_call' | 'circuit_breaker'>) => ({
  maxConcurrentCalls: call.max_concurrent_calls,
  failureThreshold: breaker.failure_threshold,
  recoveryMs: breaker.recovery_timeout_sec * 1_000,
});

import type { ChainConfig } from '@caribou/config';

/** Limits of the gate that all models of an installation share. */
export const modelGateLimits = ({
  llm_call: call,
  circuit_breaker: breaker,
}: Pick<ChainConfig, 'llm_call' | 'circuit_breaker'>) => ({
  maxConcurrentCalls: call.max_concurrent_calls,
  failureThreshold: breaker.failure_threshold,
  recoveryMs: breaker.recovery_timeout_sec * 1_000,
});

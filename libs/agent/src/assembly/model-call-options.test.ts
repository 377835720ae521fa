import { modelGateLimits } from './model-call-options.js';

const call = {
  max_concurrent_calls: 1,
  retry_max_attempts: 2,
  retry_base_delay_ms: 3,
  retry_cap_delay_ms: 4,
  burst_retry_base_delay_ms: 5,
  fallback_after_ms: 6,
  show_provider_error: true,
};

test('every key of circuit_breaker, and the limit of calls, reaches the gate', () => {
  expect(
    modelGateLimits({ llm_call: call, circuit_breaker: { failure_threshold: 6, recovery_timeout_sec: 7 } }),
  ).toEqual({ maxConcurrentCalls: 1, failureThreshold: 6, recoveryMs: 7_000 });
});

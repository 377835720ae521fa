import { type AiMessage, ModelError } from '@caribou/contracts';
import { type ModelRequest, RunCancelled, silentLogger } from '@caribou/core';
import { type FakeRun, fakeRun, modelFailure } from '@caribou/testing';
import fc from 'fast-check';
import { llmError, type LlmErrorOptions } from './llm-error.js';
import { nextDelayMs, retryOptions } from './model-attempts.js';

const MODEL = { name: 'm', endpoint: { provider: 'api.example.org/v1', model: 'm-1' } };
const request: ModelRequest = { model: 'm', system: '', messages: [], tools: [], state: { messages: [] } };
const answer: AiMessage = {
  type: 'ai',
  id: 'a',
  content: 'hello',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
};

/** Calls the layer over a model that fails with these errors, one per attempt, and then answers. */
async function attempt(failures: readonly Error[], options: LlmErrorOptions = {}, run: FakeRun = fakeRun()) {
  let calls = 0;
  const next = (): Promise<AiMessage> => {
    const failure = failures[calls];
    calls += 1;
    return failure === undefined ? Promise.resolve(answer) : Promise.reject(failure);
  };
  const message = await llmError(MODEL, { random: () => 0.5, ...options }).wrapModelCall?.(request, next, run);
  return { message, calls: () => calls, run };
}

const busy = (retryAfterMs?: number): ModelError =>
  modelFailure({
    reason: 'rate_limited',
    providerStatus: 429,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

describe(llmError, () => {
  test('a temporary failure is retried and published as llm_retry', async () => {
    const { message, run } = await attempt([busy(), modelFailure({ reason: 'connection' })]);

    expect(message).toBe(answer);
    expect(run.events.map((event) => (event.kind === 'custom' ? event.data : event))).toEqual([
      {
        type: 'llm_retry',
        attempt: 1,
        max_attempts: 3,
        wait_ms: 2000,
        reason: 'busy',
        message: expect.any(String) as string,
      },
      {
        type: 'llm_retry',
        attempt: 2,
        max_attempts: 3,
        wait_ms: 3500,
        reason: 'transient',
        message: expect.any(String) as string,
      },
    ]);
    expect(run.sleepsMs).toEqual([2000, 3500]);
  });

  test("the provider's text is logged, and shown to the user only if configured", async () => {
    const providerText = "Unsupported value: 'temperature'";
    const failure = modelFailure({ reason: 'bad_request', providerStatus: 400, providerText });
    const warn = jest.fn();
    const run = fakeRun({ logger: { ...silentLogger, warn } });

    const { message: hidden } = await attempt([failure], {}, run);
    const { message: shown } = await attempt([failure], { showProviderText: true });

    expect(JSON.stringify(hidden)).not.toContain('temperature');
    expect(warn.mock.calls).toMatchObject([[{ error: { details: { providerText } } }, 'model call failed']]);
    expect(shown?.content).toMatch(/^The model provider did not accept .*\n\nThe provider wrote: Unsupported value/s);
  });

  test.each([408, 409, 425, 429, 500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 529])(
    'status %d is tried three times',
    async (providerStatus) => {
      const failure = modelFailure({ reason: 'server', providerStatus });

      expect((await attempt([failure, failure, failure, failure])).calls()).toBe(3);
    },
  );

  test.each([
    ['quota', { reason: 'quota', providerStatus: 429 }],
    ['auth', { reason: 'auth', providerStatus: 401 }],
    ['request', { reason: 'bad_request', providerStatus: 400 }],
    ['request', { reason: 'not_found', providerStatus: 404 }],
    ['request', { reason: 'server', providerStatus: 501 }],
    ['too_large', { reason: 'too_large' }],
    ['too_long', { reason: 'context_length', providerStatus: 413 }],
    ['not_configured', { reason: 'not_configured' }],
  ])('%s is not tried again', async (reason, details) => {
    const { message, calls } = await attempt([modelFailure(details)]);

    expect(calls()).toBe(1);
    expect(message?.additional_kwargs).toMatchObject({ deerflow_error_fallback: true, error_reason: reason });
  });

  test('a silent model gets two attempts, a cut stream three', async () => {
    const silent = modelFailure({ reason: 'chunk_timeout' });
    const cut = modelFailure({ reason: 'stream_cut' });

    expect((await attempt([silent, silent, silent])).calls()).toBe(2);
    expect((await attempt([cut, cut, cut, cut])).calls()).toBe(3);
  });

  test('a burst is waited out longer, once', async () => {
    const burst = modelFailure({ reason: 'burst', providerStatus: 429 });

    const { calls, run } = await attempt([burst, burst, burst]);

    expect(calls()).toBe(2);
    expect(run.sleepsMs).toEqual([5000]);
  });

  test('attempts, waits and their cap are the options', async () => {
    const options = { maxAttempts: 5, baseDelayMs: 10, burstBaseDelayMs: 70, maxDelayMs: 40, random: () => 1 };
    const burst = modelFailure({ reason: 'burst', providerStatus: 429 });

    const { calls, run } = await attempt([busy(), busy(), busy(), busy(), busy()], options);

    expect(calls()).toBe(5);
    expect(run.sleepsMs).toEqual([30, 40, 40, 40]);
    expect((await attempt([burst], { ...options, maxDelayMs: 100 })).run.sleepsMs).toEqual([70]);
    expect((await attempt([burst], options)).run.sleepsMs).toEqual([40]);
  });

  test('what the layer decided is on record', async () => {
    const { run } = await attempt([busy(), modelFailure({ reason: 'auth', providerStatus: 401 })]);

    expect(run.decisions).toEqual(['llm-error: retry', 'llm-error: fallback']);
  });

  test("the provider's Retry-After is waited for, up to a bound", async () => {
    const { run } = await attempt([busy(12_000), busy(3_600_000)]);

    expect(run.sleepsMs).toEqual([12_000, 60_000]);
  });

  test('the fallback says nothing of what the provider wrote', async () => {
    const leaking = new ModelError('401 incorrect API key sk-secret-123', {
      details: { reason: 'auth', providerStatus: 401, body: 'sk-secret-123' },
    });

    const { message } = await attempt([leaking]);

    expect(JSON.stringify(message)).not.toContain('sk-secret');
    expect(message).toMatchObject({
      type: 'ai',
      content: expect.stringContaining('API key') as string,
      additional_kwargs: { error_type: 'ModelError', error_reason: 'auth', error_detail: 'auth (HTTP 401)' },
    });
  });

  test('other errors are rethrown at once', async () => {
    await expect(attempt([new TypeError('bug')])).rejects.toThrow('bug');
  });

  test('a call that failed because the run was cancelled is neither tried again nor replaced', async () => {
    const run = fakeRun();
    const failure = busy();
    const next = (): Promise<AiMessage> => {
      run.abort(new RunCancelled('interrupt'));
      return Promise.reject(failure);
    };

    await expect(llmError(MODEL).wrapModelCall?.(request, next, run)).rejects.toBe(failure);
    expect(run.events).toEqual([]);
  });

  test('a cancel ends the wait for the next attempt', async () => {
    const run = fakeRun();
    const reason = new RunCancelled('interrupt');
    const clock = { ...run.clock, sleep: () => Promise.reject(reason) };

    await expect(attempt([busy()], {}, { ...run, clock })).rejects.toBe(reason);
  });
});

describe(nextDelayMs, () => {
  test('every delay lies between the base and the cap, and at most three times the one before', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 10 }), (rolls) => {
        let previousMs = 1000;
        for (const roll of rolls) {
          const delayMs = nextDelayMs(previousMs, { baseDelayMs: 1000, maxDelayMs: 8000, random: () => roll });
          expect(delayMs).toBeGreaterThanOrEqual(1000);
          expect(delayMs).toBeLessThanOrEqual(Math.min(8000, previousMs * 3));
          previousMs = delayMs;
        }
      }),
    );
  });
});

test('every key of llm_call that is about retries reaches them', () => {
  const section = {
    retry_max_attempts: 2,
    retry_base_delay_ms: 3,
    retry_cap_delay_ms: 4,
    burst_retry_base_delay_ms: 5,
    fallback_after_ms: 6,
  };
  expect(retryOptions(section)).toEqual({
    maxAttempts: 2,
    baseDelayMs: 3,
    maxDelayMs: 4,
    burstBaseDelayMs: 5,
    fallbackAfterMs: 6,
  });
  expect(retryOptions()).toEqual({});
});

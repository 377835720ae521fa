import { ModelError, UnavailableError } from '@caribou/contracts';
import { faultOf, decideRetry, type RetryLimits } from './extraction-failure.js';

const limits: RetryLimits = { maxAttempts: 3, baseDelayMs: 1_000, capDelayMs: 10_000, giveUpMs: 86_400_000 };
const failed = (reason: string, more: Record<string, unknown> = {}): ModelError =>
  new ModelError('x', { details: { reason, ...more } });
const middle = () => 0.5;
const decisionOf = (error: unknown, attempts = 0, failingMs = 0) =>
  decideRetry(error, { attempts, failingMs }, limits, middle);

describe('the cause of a failed extraction', () => {
  test.each(['bad_answer', 'length', 'content_filter', 'context_length', 'too_large', 'bad_request'])(
    '%s will recur with the same conversation',
    (reason) => {
      expect(faultOf(failed(reason))).toBe('conversation');
    },
  );
  test.each([
    'server',
    'connection',
    'rate_limited',
    'quota',
    'auth',
    'circuit_open',
    'no_slot',
    'timeout',
    'chunk_timeout',
  ])('%s is temporary', (reason) => {
    expect(faultOf(failed(reason))).toBe('model');
  });
  test('a model that is not configured is temporary, an internal error is not', () => {
    expect(faultOf(new UnavailableError('no model'))).toBe('model');
    expect(faultOf(new TypeError('x'))).toBe('conversation');
  });
});

describe(decideRetry, () => {
  test('delays double up to the cap, and the last attempt dead-letters the thread', () => {
    expect(decisionOf(failed('bad_answer'))).toEqual({ kind: 'retry', delayMs: 1_000, failed: 'counts' });
    expect(decisionOf(failed('bad_answer'), 1)).toEqual({ kind: 'retry', delayMs: 2_000, failed: 'counts' });
    expect(decisionOf(failed('bad_answer'), 2)).toEqual({ kind: 'dead-letter', reason: 'the model: bad_answer' });
    const many = decideRetry(failed('length'), { attempts: 60, failingMs: 0 }, { ...limits, maxAttempts: 100 }, middle);
    expect(many).toMatchObject({ delayMs: 10_000 });
  });

  test('an unavailable model is called at growing intervals up to the time limit, and attempts do not count', () => {
    expect(decisionOf(failed('server'))).toEqual({ kind: 'retry', delayMs: 1_000, failed: 'away' });
    expect(decisionOf(failed('server'), 50, 4_000)).toEqual({ kind: 'retry', delayMs: 4_000, failed: 'away' });
    expect(decisionOf(failed('server'), 0, 3_600_000)).toMatchObject({ delayMs: 10_000 });
    expect(decisionOf(failed('server'), 0, limits.giveUpMs)).toMatchObject({ kind: 'dead-letter' });
  });

  test('the delay of the provider is respected up to the cap, and delays have jitter', () => {
    expect(decisionOf(failed('rate_limited', { retryAfterMs: 7_000 }))).toMatchObject({ delayMs: 7_000 });
    expect(decisionOf(failed('rate_limited', { retryAfterMs: 700_000 }))).toMatchObject({ delayMs: 10_000 });
    const spread = [0, 0.999].map((value) =>
      decideRetry(failed('server'), { attempts: 0, failingMs: 0 }, limits, () => value),
    );
    expect(spread).toEqual([
      { kind: 'retry', delayMs: 900, failed: 'away' },
      { kind: 'retry', delayMs: 1_100, failed: 'away' },
    ]);
  });

  test('the reason contains nothing of the conversation', () => {
    expect(decisionOf(new Error('secret words'), 2)).toEqual({ kind: 'dead-letter', reason: 'an internal error' });
  });
});

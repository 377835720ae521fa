import { ModelError, UnavailableError } from '@caribou/contracts';
import { faultOf, judge, type RetryLimits } from './reading-failure.js';

const limits: RetryLimits = { maxAttempts: 3, baseDelayMs: 1_000, capDelayMs: 10_000, giveUpMs: 86_400_000 };
const failed = (reason: string, more: Record<string, unknown> = {}): ModelError =>
  new ModelError('x', { details: { reason, ...more } });
const middle = () => 0.5;
const verdictOf = (error: unknown, attempts = 0, failingMs = 0) =>
  judge(error, { attempts, failingMs }, limits, middle);

describe('the fault of a failed reading', () => {
  test.each(['bad_answer', 'length', 'content_filter', 'context_length', 'too_large', 'bad_request'])(
    '%s comes again with the same conversation',
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
  ])('%s passes when the model is back', (reason) => {
    expect(faultOf(failed(reason))).toBe('model');
  });
  test('a model that is not configured is away, a defect of ours is not', () => {
    expect(faultOf(new UnavailableError('no model'))).toBe('model');
    expect(faultOf(new TypeError('x'))).toBe('conversation');
  });
});

describe(judge, () => {
  test('waits double up to the cap, and the last attempt ends it', () => {
    expect(verdictOf(failed('bad_answer'))).toEqual({ kind: 'retry', delayMs: 1_000, failed: 'counts' });
    expect(verdictOf(failed('bad_answer'), 1)).toEqual({ kind: 'retry', delayMs: 2_000, failed: 'counts' });
    expect(verdictOf(failed('bad_answer'), 2)).toEqual({ kind: 'bury', reason: 'the model: bad_answer' });
    const many = judge(failed('length'), { attempts: 60, failingMs: 0 }, { ...limits, maxAttempts: 100 }, middle);
    expect(many).toMatchObject({ delayMs: 10_000 });
  });

  test('a model that is away is asked at growing intervals for as long as allowed, and no attempt counts', () => {
    expect(verdictOf(failed('server'))).toEqual({ kind: 'retry', delayMs: 1_000, failed: 'away' });
    expect(verdictOf(failed('server'), 50, 4_000)).toEqual({ kind: 'retry', delayMs: 4_000, failed: 'away' });
    expect(verdictOf(failed('server'), 0, 3_600_000)).toMatchObject({ delayMs: 10_000 });
    expect(verdictOf(failed('server'), 0, limits.giveUpMs)).toMatchObject({ kind: 'bury' });
  });

  test('the wish of the provider is respected within the cap, and waits are spread', () => {
    expect(verdictOf(failed('rate_limited', { retryAfterMs: 7_000 }))).toMatchObject({ delayMs: 7_000 });
    expect(verdictOf(failed('rate_limited', { retryAfterMs: 700_000 }))).toMatchObject({ delayMs: 10_000 });
    const spread = [0, 0.999].map((value) =>
      judge(failed('server'), { attempts: 0, failingMs: 0 }, limits, () => value),
    );
    expect(spread).toEqual([
      { kind: 'retry', delayMs: 900, failed: 'away' },
      { kind: 'retry', delayMs: 1_100, failed: 'away' },
    ]);
  });

  test('a reason holds nothing of what was said', () => {
    expect(verdictOf(new Error('secret words'), 2)).toEqual({ kind: 'bury', reason: 'an internal error' });
  });
});

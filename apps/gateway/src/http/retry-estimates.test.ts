import { RetryEstimates } from './retry-estimates.js';

describe(RetryEstimates, () => {
  let nowMs = 0;
  let estimates: RetryEstimates;

  beforeEach(() => {
    nowMs = 1_000_000;
    estimates = new RetryEstimates(() => nowMs);
  });

  test('the first refusal is answered with a second, later ones with the time since the first', () => {
    expect(estimates.refuse('ann')).toBe(1_000);
    nowMs += 700;
    expect(estimates.refuse('ann')).toBe(1_000);
    nowMs += 7_300;
    expect(estimates.refuse('ann')).toBe(8_000);
    expect(estimates.refuse('bob')).toBe(1_000);
  });

  test('no estimate exceeds a minute', () => {
    for (let minute = 0; minute < 10; minute += 1) {
      expect(estimates.refuse('ann')).toBeLessThanOrEqual(60_000);
      nowMs += 60_000;
    }
    expect(estimates.refuse('ann')).toBe(60_000);
  });

  test('an accepted request and two minutes of silence end the series', () => {
    estimates.refuse('ann');
    nowMs += 30_000;
    estimates.accept('ann');
    expect(estimates.refuse('ann')).toBe(1_000);
    nowMs += 120_001;
    expect(estimates.refuse('ann')).toBe(1_000);
  });

  test('refusals of many users are bounded, and the oldest are forgotten', () => {
    for (let user = 0; user <= 10_000; user += 1) estimates.refuse(`user ${user}`);
    nowMs += 10_000;
    expect(estimates.refuse('user 10000')).toBe(10_000);
    expect(estimates.refuse('user 0')).toBe(1_000);
  });
});

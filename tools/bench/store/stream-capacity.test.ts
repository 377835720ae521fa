import { limitOf } from './stream-capacity.js';

const load = { streams: 10, tokensPerSecond: 25, seconds: 4 };
const carried = {
  load,
  lostRuns: 0,
  tokens: 1_000,
  published: { p50: 2, p99: 20 },
  redisCores: 0.95,
  driverCores: 0.5,
};

describe(limitOf, () => {
  test('streams whose tokens are all in the log in time have met no limit, however busy Redis is', () => {
    expect(limitOf(carried)).toBeUndefined();
  });

  test.each([
    { what: 'late tokens', change: { published: { p50: 2, p99: 300 } } },
    { what: 'missing tokens', change: { tokens: 999 } },
    { what: 'lost runs', change: { lostRuns: 1 } },
  ])('$what are a limit, and the busiest process is named', ({ change }) => {
    expect(limitOf({ ...carried, ...change })).toBe('Redis');
    expect(limitOf({ ...carried, ...change, driverCores: 0.99 })).toBe('the driver');
    expect(limitOf({ ...carried, ...change, redisCores: 0.6 })).toBe('other work on the machine');
  });
});

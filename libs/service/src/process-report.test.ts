import type { Clock } from '@caribou/core';
import { ProcessReport } from './process-report.js';

const metrics = {
  readHoldings: () => ({
    slots: [{ name: 'runs', used: 2, limit: 8 }],
    caches: [{ name: 'heads', used: 100, limit: 1_000 }],
  }),
  readFigure: async () => 3,
  measure: () => undefined,
};

/** A clock that only moves when a test moves it. */
function stoppedClock(): Clock & { ms: number } {
  return { ms: 0, now: () => Date.UTC(2026, 0, 2), monotonicMs: () => clock.ms, sleep: () => Promise.resolve() };
}
let clock = stoppedClock();

describe('ProcessReport', () => {
  let checks = 0;
  let reason: string | undefined;
  const check = async () => {
    checks += 1;
    if (reason !== undefined) throw new Error(reason);
  };
  let report: ProcessReport;

  beforeEach(() => {
    clock = stoppedClock();
    [checks, reason] = [0, undefined];
    const one = { name: 'redis', check };
    report = new ProcessReport({ service: 'gateway', processId: 'p1', metrics, checks: [one], clock });
  });
  afterEach(() => report.stop());

  test('says who the process is and what it holds', async () => {
    expect(await report.describe()).toMatchObject({
      service: 'gateway',
      id: 'p1',
      pid: process.pid,
      started_at: '2026-01-02T00:00:00.000Z',
      state: 'ready',
      problems: [],
      slots: [{ kind: 'runs', used: 2, limit: 8 }],
      caches: [{ name: 'heads', bytes: 100, limit_bytes: 1_000 }],
      open_streams: 3,
      loop_lag_ms: null,
    });
  });

  test('is degraded while a check fails, with its reason, and draining once it ends', async () => {
    reason = 'connection refused';
    expect(await report.describe()).toMatchObject({
      state: 'degraded',
      problems: [{ name: 'redis', reason: 'connection refused' }],
    });

    report.noteDraining();
    clock.ms += 2_000;
    expect(await report.describe()).toMatchObject({ state: 'draining', problems: [] });
  });

  test('many questions at once cost one round of checks', async () => {
    await Promise.all(Array.from({ length: 20 }, () => report.describe()));
    expect(checks).toBe(1);

    clock.ms += 2_000;
    const again = await report.describe();
    expect(checks).toBe(2);
    expect(again.loop_lag_ms).not.toBeNull();
  });

  test('a check that hangs is a problem and does not delay the answer beyond the second of the question', async () => {
    const hangs = { name: 'nats', check: () => new Promise(() => undefined) };
    const hanging = new ProcessReport({ service: 'gateway', processId: 'p2', metrics, checks: [hangs], clock });

    expect((await hanging.describe()).problems).toEqual([{ name: 'nats', reason: 'no answer in 600 ms' }]);
    hanging.stop();
  });
});

import { UnavailableError } from '@caribou/contracts';
import { type Clock, silentLogger } from '@caribou/core';
import type { AuditLine } from '@caribou/state';
import { AuditTrail } from './audit-trail.js';
import { until } from '../testing/test-manager.js';

const clock: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  sleep: () => new Promise((resolve) => setImmediate(resolve)),
};
const line = (id: string): AuditLine => ({
  id,
  at: '2026-01-01T00:00:00.000Z',
  user_id: 'default',
  thread_id: 't1',
  operation: 'exec',
  verdict: 'done',
  duration_ms: 1,
  manager_id: 'm1',
});

describe('AuditTrail', () => {
  let written: string[];
  let away: boolean;
  let lost: number;
  let trail: AuditTrail;

  beforeEach(() => {
    [written, away, lost] = [[], false, 0];
    const logger = {
      ...silentLogger,
      error: (fields: object) => {
        if ('count' in fields) lost += Number(fields.count);
      },
    };
    const append = async (lines: readonly AuditLine[]): Promise<void> => {
      await Promise.resolve();
      if (away) throw new UnavailableError('away', { details: { dependency: 'redis' } });
      written.push(...lines.map(({ id }) => id));
    };
    trail = new AuditTrail({ log: { append }, clock, logger, maxWaiting: 3 });
  });

  test('keeps lines in their order while the log is away and writes them when it is back (A2)', async () => {
    away = true;
    for (const id of ['a', 'b', 'c']) trail.record(line(id));
    away = false;
    await until(() => written.length === 3);

    expect([written, lost]).toEqual([['a', 'b', 'c'], 0]);
  });

  test('says so when a line is lost because too many wait (A2)', async () => {
    away = true;
    for (const id of ['a', 'b', 'c', 'd']) trail.record(line(id));
    away = false;
    await until(() => written.length === 3);

    expect([written, lost]).toEqual([['a', 'b', 'c'], 1]);
  });

  test('a close writes what waits, and says what it could not write (A2)', async () => {
    trail.record(line('a'));
    await trail.close(1000);
    expect([written, lost]).toEqual([['a'], 0]);

    away = true;
    trail.record(line('b'));
    await trail.close(0);
    expect(lost).toBe(1);
  });
});

import { type Clock, silentLogger } from '@caribou/core';
import type { EgressEntry } from '@caribou/egress';
import type { AuditLine } from '@caribou/state';
import { EgressTrail } from './egress-trail.js';

const specOf = (sandboxId: string) => ({ sandboxId, managerId: 'm1', userId: 'default', threadId: 't1' });
const entry: EgressEntry = {
  method: 'CONNECT',
  host: 'pypi.org',
  port: 443,
  verdict: 'allowed',
  bytesUp: 10,
  bytesDown: 90,
  durationMs: 5,
};

describe('EgressTrail', () => {
  let nowMs: number;
  let lines: AuditLine[];
  let logged: Readonly<Record<string, unknown>>[];
  let trail: EgressTrail;

  beforeEach(() => {
    [nowMs, lines, logged] = [0, [], []];
    const clock: Clock = { now: () => 0, monotonicMs: () => nowMs, sleep: () => Promise.resolve() };
    const logger = { ...silentLogger, info: (fields: Readonly<Record<string, unknown>>) => void logged.push(fields) };
    trail = new EgressTrail({ managerId: 'm1', clock, logger, trail: { record: (line) => void lines.push(line) } });
  });

  test('tells log and audit whose connection went where, how much it carried, and why one was refused', () => {
    const reason = 'evil.test:443 is not on the allow-list';
    trail.record(specOf('a'), entry);
    trail.record(specOf('a'), { ...entry, host: 'evil.test', verdict: 'refused', reason, bytesUp: 0, bytesDown: 0 });

    expect(lines).toMatchObject([
      {
        operation: 'egress',
        user_id: 'default',
        thread_id: 't1',
        what: 'CONNECT pypi.org:443',
        verdict: 'allowed',
        bytes: 100,
      },
      { operation: 'egress', what: 'CONNECT evil.test:443', verdict: 'refused', bytes: 0, manager_id: 'm1' },
    ]);
    expect(logged).toMatchObject([
      { event: 'egress.connection', outcome: 'ok', threadId: 't1', host: 'pypi.org', port: 443, bytes: 100 },
      { outcome: 'error', host: 'evil.test', port: 443, reason },
    ]);
  });

  test('does not let one sandbox write without end, counts what it leaves out, and hinders no other sandbox', () => {
    for (let times = 0; times < 1000; times += 1) trail.record(specOf('a'), entry);
    trail.record(specOf('b'), entry);
    expect(lines).toHaveLength(101);

    nowMs = 2000;
    for (let times = 0; times < 10; times += 1) trail.record(specOf('a'), entry);

    expect(lines).toHaveLength(103);
    expect(logged.map(({ count }) => count).filter((count) => count !== undefined)).toEqual([900]);
  });
});

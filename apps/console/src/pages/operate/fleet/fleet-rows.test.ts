import type { FleetReply, ProcessInfo } from '@caribou/contracts';
import { fleetRows, lacksProcesses } from './fleet-rows.js';

const processOf = (id: string, state: ProcessInfo['state'], service: ProcessInfo['service'] = 'agent-runner') =>
  ({ service, id, state }) as ProcessInfo;
const silentOf = (id: string, lease: 'held' | 'lapsed') =>
  ({ service: 'agent-runner', id, renewed_ms_ago: 9_000, lease }) as const;

const reply = (given: Partial<FleetReply>): FleetReply => ({
  at: '2026-01-02T00:00:00Z',
  processes: [],
  silent: [],
  is_cut: false,
  nats: { reachable: true },
  redis: { reachable: true },
  ...given,
});
const runners = (given: Partial<FleetReply>) =>
  fleetRows(reply(given))
    .find(({ service }) => service === 'agent-runner')
    ?.rows.map(({ id, kind }) => [id, kind]);

describe('fleetRows', () => {
  test('has silent processes first, then those that end, then those that lack something', () => {
    const processes = [processOf('a', 'ready'), processOf('b', 'draining'), processOf('c', 'degraded')];
    const silent = [silentOf('d', 'lapsed'), silentOf('e', 'held')];

    expect(runners({ processes, silent })).toEqual([
      ['e', 'silent'],
      ['d', 'lapsed'],
      ['b', 'draining'],
      ['c', 'degraded'],
      ['a', 'ready'],
    ]);
  });

  test('does not call a process silent that nobody could ask', () => {
    expect(runners({ silent: [silentOf('d', 'held')], nats: { reachable: false } })).toEqual([['d', 'unknown']]);
  });

  test('lists every service, and says which has nobody for its work', () => {
    const rows = fleetRows(reply({ processes: [processOf('g', 'degraded', 'gateway'), processOf('r', 'draining')] }));

    expect(rows.filter(lacksProcesses).map(({ service }) => service)).toEqual([
      'agent-runner',
      'subagent-pool',
      'sandbox-manager',
    ]);
  });
});

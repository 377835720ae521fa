import { type Held, total } from './held.js';
import { budgetsOf } from './say-waiting.js';

const service = { bytes: 60e6, timers: 8, sockets: 6, resources: 8, cacheBytes: 0, slots: 0 };

const heldBy = (gateway: Partial<typeof service> = {}, subscriptions = 6): Held => ({
  services: { gateway: { ...service, ...gateway }, 'agent-runner': service },
  redis: { bytes: 0, clients: 6, blockedClients: 0, subscriptions: 0, workKeys: 0 },
  subscriptions: { gateway: 2, 'agent-runner': subscriptions },
  natsMessages: 0,
  cpuMsPerSecond: {},
});

const THREADS = 10_000;

/** The budgets that are missed, by their first words. */
const missed = (after: Held): readonly string[] =>
  budgetsOf({
    ...{ threads: THREADS, before: heldBy(), after },
    ...{ bytesPerThread: { first: 0, later: 0 }, resumedMs: {} },
  }).flatMap(({ what, value, atMost }) => (value <= atMost ? [] : [what.replace(/ (of|a service) .*/, '')]));

describe('budgetsOf', () => {
  test('accepts a system that holds what it held before, or less', () => {
    expect(missed(heldBy())).toEqual([]);
    expect(missed(heldBy({ bytes: 50e6, sockets: 5 }))).toEqual([]);
  });

  test('finds one subscription, one slot, and a timer, a socket or a kilobyte for each thread', () => {
    expect(missed(heldBy({}, 7))).toEqual(['subscriptions at NATS']);
    expect(missed(heldBy({ slots: 1 }))).toEqual(['leases, slots and queues']);
    expect(missed(heldBy({ timers: 8 + THREADS }))).toEqual(['timers']);
    expect(missed(heldBy({ sockets: 6 + THREADS, resources: 8 + THREADS }))).toEqual(['sockets', 'active resources']);
    expect(missed(heldBy({ bytes: 60e6 + 1024 * THREADS }))).toEqual(['memory']);
  });

  test('bytes of bounded caches do not count', () => {
    expect(missed(heldBy({ bytes: 80e6, cacheBytes: 20e6 }))).toEqual([]);
  });

  test('all of them are required', () => {
    const cost = { threads: THREADS, before: heldBy(), after: heldBy(), resumedMs: {} };
    const budgets = budgetsOf({ ...cost, bytesPerThread: { first: 0, later: 0 } });
    expect(budgets.every(({ isRequired }) => isRequired === true)).toBe(true);
  });
});

describe('total', () => {
  test('adds up a metric over its labels, and nothing else', () => {
    const metrics = ['# HELP slots Slots', 'slots{kind="run"} 2', 'slots{kind="task"} 3', 'slots_total 9', 'slots 1'];
    expect(total(metrics.join('\n'), 'slots')).toBe(6);
  });
});

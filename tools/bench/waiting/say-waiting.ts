import type { CpuByProcess } from '../cpu-time.js';
import { type Budget, say } from '../report.js';
import { sum } from '../sample.js';
import type { Held, HeldByService } from './held.js';
import type { WaitingKind } from './waiting-threads.js';

export interface WaitingCost {
  readonly threads: number;
  readonly before: Held;
  readonly after: Held;
  /** Bytes in Redis per thread with the event logs of the runs, and once these are gone. */
  readonly bytesPerThread: { readonly first: number; readonly later: number };
  /** Milliseconds from an approval to the end of the run that continued, by what ran before. */
  readonly resumedMs: Readonly<Partial<Record<WaitingKind, number>>>;
}

const MEBIBYTE = 1024 ** 2;
const mebibytes = (bytes: number): string => (bytes / MEBIBYTE).toFixed(1);
const change = (before: number, after: number): string => `${before} → ${after}`;
const ofAll = ({ services }: Held, figure: (service: HeldByService) => number): number =>
  sum(Object.values(services).map(figure));
const subscriptionsOf = ({ subscriptions }: Held): number => sum(Object.values(subscriptions));
const cpuOf = (cpu: CpuByProcess): string =>
  Object.entries(cpu)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
    .join(', ');

export function sayWaiting({ threads, before, after, bytesPerThread, resumedMs }: WaitingCost): void {
  say();
  say(`${threads} threads that wait for a person, before → after`);
  for (const [name, held] of Object.entries(after.services)) {
    const was = before.services[name] ?? held;
    say(
      `  ${name.padEnd(16)} in use ${mebibytes(was.bytes)} → ${mebibytes(held.bytes)} MiB, of it caches ` +
        `${mebibytes(was.cacheBytes)} → ${mebibytes(held.cacheBytes)}; timers ${change(was.timers, held.timers)}; ` +
        `sockets ${change(was.sockets, held.sockets)}; active resources ${change(was.resources, held.resources)}; slots ${change(was.slots, held.slots)}`,
    );
  }
  const { redis: was } = before;
  const { redis: held } = after;
  say(
    `  Redis: clients ${change(was.clients, held.clients)}, blocked ${change(was.blockedClients, held.blockedClients)}, ` +
      `subscriptions ${change(was.subscriptions, held.subscriptions)}, leases, slots and queues ${change(was.workKeys, held.workKeys)}; ` +
      `${(bytesPerThread.first / 1024).toFixed(1)} KiB a thread in the first hour, ${(bytesPerThread.later / 1024).toFixed(1)} later`,
  );
  const names = Object.entries(after.subscriptions).map(
    ([name, count]) => `${name} ${change(before.subscriptions[name] ?? 0, count)}`,
  );
  say(`  NATS: subscriptions ${names.join(', ')}; messages ${change(before.natsMessages, after.natsMessages)}`);
  say(`  CPU in half a minute without requests, ms per second, before: ${cpuOf(before.cpuMsPerSecond)}`);
  say(`${' '.repeat(56)}after: ${cpuOf(after.cpuMsPerSecond)}`);
  const resumed = Object.entries(resumedMs).map(([kind, ms]) => `${kind} ${ms.toFixed(0)} ms`);
  say(`  from an approval to the end of the run that continued: ${resumed.join(', ')}`);
}

/** What the processes open and close by themselves while nothing waits. */
const FEW = 10;
/** What one process uses more or less of at two times of rest. */
const HEAP_NOISE_BYTES = MEBIBYTE;

/** How much more the system holds than before, and the bounds of it, which do not depend on the machine. */
export function budgetsOf({ threads, before, after }: WaitingCost): readonly Budget[] {
  const grown = (what: string, figure: (held: Held) => number, atMost = 0): Budget => ({
    ...{ what: `${what} of ${threads} waiting threads`, unit: '', atMost, isRequired: true },
    value: figure(after) - figure(before),
  });
  const perThread = Object.entries(after.services).map(([name, { bytes, cacheBytes }]) => {
    const was = before.services[name];
    return was === undefined ? 0 : (bytes - cacheBytes - (was.bytes - was.cacheBytes)) / threads / 1024;
  });
  return [
    grown('subscriptions at NATS', subscriptionsOf),
    grown('clients and subscriptions of Redis', ({ redis }) => redis.clients + redis.subscriptions),
    grown('leases, slots and queues', (held) => held.redis.workKeys + ofAll(held, ({ slots }) => slots)),
    grown('timers', (held) => ofAll(held, ({ timers }) => timers), FEW),
    grown('sockets', (held) => ofAll(held, ({ sockets }) => sockets), FEW),
    grown('active resources', (held) => ofAll(held, ({ resources }) => resources), FEW),
    {
      ...{ what: 'memory a service retains per waiting thread', unit: 'KiB', isRequired: true },
      ...{ value: Math.max(...perThread), atMost: 0.1 + HEAP_NOISE_BYTES / threads / 1024 },
    },
  ];
}

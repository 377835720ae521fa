import { Gauge, type Registry } from 'prom-client';

/** Something bounded that a process holds, such as slots or the bytes of a cache. */
export interface Holding {
  readonly used: () => number;
  readonly limit: number;
}

export type SlotKind = 'runs' | 'tasks' | 'extractions' | 'conversions' | 'sandboxes' | 'executions';
export type CacheName = 'values' | 'heads' | 'finished_executions';

export interface HoldingMetrics {
  /** Reads how many slots of a kind are in use on each request for metrics. */
  measureSlots(kind: SlotKind, slots: Holding): void;
  /** Reads the bytes of a cache on each request for metrics. */
  measureCache(cache: CacheName, bytes: Holding): void;
  /** What all of them hold now. */
  readHoldings(): { readonly slots: readonly HoldingReading[]; readonly caches: readonly HoldingReading[] };
}

export interface HoldingReading {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

export function addHoldingMetrics(registry: Registry): HoldingMetrics {
  const registers = [registry];
  const addPair = (label: string, used: { name: string; help: string }, limit: { name: string; help: string }) => {
    const holdings = new Map<string, Holding>();
    const labelNames = [label];
    new Gauge({
      ...used,
      labelNames,
      registers,
      collect() {
        for (const [name, holding] of holdings) this.set({ [label]: name }, holding.used());
      },
    });
    const limits = new Gauge({ ...limit, labelNames, registers });
    return {
      add: (name: string, holding: Holding): void => {
        holdings.set(name, holding);
        limits.set({ [label]: name }, holding.limit);
      },
      read: (): readonly HoldingReading[] =>
        [...holdings].map(([name, { used: readUsed, limit: most }]) => ({ name, used: readUsed(), limit: most })),
    };
  };
  const slots = addPair(
    'kind',
    { name: 'caribou_slots_used', help: 'Slots of this process that are in use' },
    { name: 'caribou_slots_limit', help: 'Slots that this process has' },
  );
  const caches = addPair(
    'cache',
    { name: 'caribou_cache_bytes', help: 'Bytes that a cache of this process holds' },
    { name: 'caribou_cache_limit_bytes', help: 'Bytes that a cache of this process may hold' },
  );
  return {
    measureSlots: slots.add,
    measureCache: caches.add,
    readHoldings: () => ({ slots: slots.read(), caches: caches.read() }),
  };
}

import { Counter, Gauge, type Registry } from 'prom-client';
import { LoopLag } from './loop-lag.js';

const MEMORY = [
  ['process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss()],
  ['nodejs_heap_size_used_bytes', 'Objects in the heap of V8', () => process.memoryUsage().heapUsed],
  [
    'nodejs_external_memory_bytes',
    'Buffers and other memory of objects outside of the heap',
    () => process.memoryUsage().external,
  ],
] as const;

/** Figures of the process. They are read on each request; a process whose metrics nobody reads has no timer. */
export function addProcessMetrics(registry: Registry): void {
  const registers = [registry];
  for (const [name, help, read] of MEMORY)
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1_000_000);
    },
  });
  addEventLoopLag(registry);
}

/** How late timers ran since the last request; the first request begins the measurement. */
function addEventLoopLag(registry: Registry): void {
  const lag = new LoopLag();
  new Gauge({
    name: 'caribou_event_loop_lag_seconds',
    help: 'How late the event loop ran its timers since the last request for metrics',
    labelNames: ['quantile'],
    registers: [registry],
    collect() {
      const measured = lag.read();
      if (measured === undefined) return;
      for (const [quantile, ms] of [
        ['0.5', measured.p50],
        ['0.99', measured.p99],
        ['1', measured.max],
      ] as const)
        this.set({ quantile }, ms / 1_000);
    },
  });
}

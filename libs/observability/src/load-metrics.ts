import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { addBudgetMetrics, type BudgetMetrics } from './budget-metrics.js';
import { addHoldingMetrics, type HoldingMetrics } from './holding-metrics.js';
import { addQueueMetrics, type QueueMetrics } from './queue-metrics.js';

/** What tells an operator how loaded a service is, and what waits for it. */
export interface LoadMetrics extends QueueMetrics, HoldingMetrics, BudgetMetrics {
  /** A run was claimed for the first time, this long after its admission. */
  runStarted(waitMs: number): void;
  /** A gateway offered a run to the runners; `outcome`: taken, refused, nobody or late. */
  turnOffered(outcome: string): void;
  /** A run has ended, which wrote this much to the store. */
  runWrote(bytes: { readonly stateBytes: number; readonly logBytes: number }): void;
  /** A request was refused because of a limit, an overload or an unavailable dependency; `code` as the error has it. */
  requestRefused(code: string): void;
  /** A script of Redis was called, from the request to its reply. */
  scriptEnded(script: string, durationMs: number): void;
  /** Reads a figure on each request for metrics. */
  measure(figure: keyof typeof figures, read: () => number | Promise<number>): void;
  /** The figure now; undefined when this process does not measure it. */
  readFigure(figure: keyof typeof figures): Promise<number | undefined>;
}

/** Figures that are read when metrics are requested. */
const figures = {
  active_runs: 'Runs that this process executes',
  open_streams: 'Event streams and other long answers that are open',
  slow_reader_bytes: 'Bytes that wait for slow readers of event streams',
  pending_threads: 'Threads with a run that waits or is under way, of all users',
  warm_sandboxes: 'Sandboxes that wait for a thread',
  draining: '1 from the signal to stop until the end of this process, else 0',
  redis_memory_ratio: 'Used part of the maxmemory of Redis, 0 to 1; 0 without a maxmemory',
} as const;

/** Upper bounds of the buckets of sizes, in bytes: 1 KiB to 64 MiB. */
const BYTES = Array.from({ length: 9 }, (_, index) => 1_024 * 4 ** index);

/** @param buckets upper bounds in seconds */
export function addLoadMetrics(
  registry: Registry,
  buckets: { readonly waits: number[]; readonly scripts: number[] },
): LoadMetrics & { readonly readFigures: () => Promise<void> } {
  const registers = [registry];
  const waits = new Histogram({
    name: 'caribou_run_wait_duration_seconds',
    help: 'From the admission of a run to its first claim',
    buckets: buckets.waits,
    registers,
  });
  const offers = new Counter({
    name: 'caribou_turn_offers_total',
    help: 'Runs that a gateway offered to a runner with a free slot; those that were not taken are queued',
    labelNames: ['outcome'],
    registers,
  });
  const stateBytes = new Histogram({
    name: 'caribou_run_state_bytes',
    help: 'Checkpoints, messages and values that a run has written',
    buckets: BYTES,
    registers,
  });
  const logBytes = new Histogram({
    name: 'caribou_run_event_log_bytes',
    help: 'The event log of a run at its end',
    buckets: BYTES,
    registers,
  });
  const refusals = new Counter({
    name: 'caribou_refused_requests_total',
    help: 'Requests that were refused',
    labelNames: ['reason'],
    registers,
  });
  const scripts = new Histogram({
    name: 'caribou_redis_script_duration_seconds',
    help: 'Scripts of Redis, from the request to the reply',
    labelNames: ['script'],
    buckets: buckets.scripts,
    registers,
  });
  const { readQueues, ...queues } = addQueueMetrics(registry);
  const gauges = new Map<string, Gauge>();
  for (const [figure, help] of Object.entries(figures))
    gauges.set(figure, new Gauge({ name: `caribou_${figure}`, help, registers }));
  const readers = new Map<string, () => number | Promise<number>>();
  return {
    runStarted: (waitMs) => {
      waits.observe(waitMs / 1_000);
    },
    turnOffered: (outcome) => {
      offers.inc({ outcome });
    },
    runWrote: (bytes) => {
      stateBytes.observe(bytes.stateBytes);
      logBytes.observe(bytes.logBytes);
    },
    requestRefused: (reason) => {
      refusals.inc({ reason });
    },
    scriptEnded: (script, durationMs) => {
      scripts.observe({ script }, durationMs / 1_000);
    },
    measure: (figure, read) => {
      readers.set(figure, read);
    },
    readFigure: async (figure) => readers.get(figure)?.(),
    ...queues,
    ...addHoldingMetrics(registry),
    ...addBudgetMetrics(registry),
    readFigures: async () => {
      const figures = [...readers].map(async ([figure, read]) => gauges.get(figure)?.set(await read()));
      await Promise.all([...figures, readQueues()]);
    },
  };
}

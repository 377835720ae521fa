import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { addLoadMetrics, type LoadMetrics } from './load-metrics.js';
import { addModelCallMetrics, type ModelCallMetrics } from './model-call-metrics.js';
import { addTimerMetrics, type TimerMetrics } from './timer-metrics.js';
import { addProcessMetrics } from './process-metrics.js';

export type Outcome = 'ok' | 'error' | 'cancelled' | 'limit';

/**
 * The metrics of a service. Ids are never labels. Durations are given in milliseconds and exported in seconds, the base unit of
 * Prometheus.
 */
export interface Metrics extends LoadMetrics, ModelCallMetrics, TimerMetrics {
  /** A run reached its end; `status` as the run record has it (`success`, `error`, `interrupted`…). */
  runEnded(status: string): void;
  /** One model turn, from the load of the state to its commit. */
  turnEnded(durationMs: number): void;
  toolCallEnded(tool: string, outcome: Outcome): void;
  sandboxReady(durationMs: number): void;
  /** A client requested events that no longer exist. */
  streamGap(): void;
  /** One write that Redis accepts only from the holder of the lease. */
  redisCommit(durationMs: number): void;
  /** A write was refused because the lease is lost. */
  fenced(): void;
  /** NATS delivered the notification of a run more than once. */
  redelivered(): void;
  /** A run was taken over from a lost runner. */
  takenOver(): void;
  /** Facts were extracted from a thread; `outcome`: learnt, nothing, retry, dead or lost. */
  memoryRead(outcome: string, durationMs: number): void;
  /** Threads that wait for memory extraction, of all users. */
  memoryDue(count: number): void;
  readonly contentType: string;
  /** All figures in the Prometheus text format. */
  text(): Promise<string>;
}

/** More label values than this are counted as "other": models invent tool names. */
const MAX_LABEL_VALUES = 200;

/** Upper bounds of the buckets, in seconds: of one exchange with Redis, and of whole operations. */
const FAST = [0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 1, 4];
const SLOW = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];

const seconds = (milliseconds: number): number => milliseconds / 1_000;

export interface MetricsOptions {
  readonly service: string;
  /** Where they are registered; absent: a registry of their own. */
  readonly registry?: Registry;
}

/** Metrics of one service. Those of the process are read on each request, without timers. */
export function createMetrics({ service, registry = new Registry() }: MetricsOptions): Metrics {
  registry.setDefaultLabels({ service });
  const registers = [registry];
  addProcessMetrics(registry);
  const createCounter = (name: string, help: string) => new Counter({ name: `caribou_${name}`, help, registers });
  const createLabelledCounter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name: `caribou_${name}`, help, labelNames, registers });
  const createHistogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `caribou_${name}_duration_seconds`, help, buckets, registers });
  const createGauge = (name: string, help: string) => new Gauge({ name: `caribou_${name}`, help, registers });

  const runs = createLabelledCounter('runs_total', 'Runs that ended', ['outcome']);
  const turns = createHistogram('model_turn', 'Model turns, from the load of the state to its commit', SLOW);
  const tools = createLabelledCounter('tool_calls_total', 'Tool calls that ended', ['tool', 'outcome']);
  const sandboxes = createHistogram('sandbox_start', 'From the request for a sandbox until it takes commands', SLOW);
  const gaps = createCounter('stream_gaps_total', 'Streams whose client asked for events that have expired');
  const commits = createHistogram('commit', 'Commits of a run to Redis', FAST);
  const fenced = createCounter('fenced_writes_total', 'Writes that were refused because the lease was lost');
  const redelivered = createCounter(
    'redelivered_notifications_total',
    'Notifications of runs that NATS delivered again',
  );
  const takenOver = createCounter('run_takeovers_total', 'Runs taken over from another runner');
  const extractions = createLabelledCounter('memory_extractions_total', 'Threads that memory extraction read', [
    'outcome',
  ]);
  const extractionTimes = createHistogram('memory_extraction', 'Memory extraction of one thread', SLOW);
  const memoryQueue = createGauge('memory_queue_length', 'Threads that wait for memory extraction');
  const { readFigures, ...load } = addLoadMetrics(registry, { waits: SLOW, scripts: FAST });
  const toolLabel = createLabelLimit();
  // Prometheus sees no increase in a series that begins with its first event, and this one is alerted of.
  runs.inc({ outcome: 'unreadable' }, 0);

  return {
    runEnded: (outcome) => {
      runs.inc({ outcome });
    },
    turnEnded: (durationMs) => {
      turns.observe(seconds(durationMs));
    },
    toolCallEnded: (tool, outcome) => {
      tools.inc({ tool: toolLabel(tool), outcome });
    },
    sandboxReady: (durationMs) => {
      sandboxes.observe(seconds(durationMs));
    },
    streamGap: () => {
      gaps.inc();
    },
    redisCommit: (durationMs) => {
      commits.observe(seconds(durationMs));
    },
    fenced: () => {
      fenced.inc();
    },
    redelivered: () => {
      redelivered.inc();
    },
    takenOver: () => {
      takenOver.inc();
    },
    memoryRead: (outcome, durationMs) => {
      extractions.inc({ outcome });
      extractionTimes.observe(seconds(durationMs));
    },
    memoryDue: (count) => {
      memoryQueue.set(count);
    },
    contentType: registry.contentType,
    ...addModelCallMetrics(registry, createLabelLimit()),
    ...addTimerMetrics(registry, SLOW),
    ...load,
    text: () => readFigures().then(() => registry.metrics()),
  };
}

function createLabelLimit(): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.size < MAX_LABEL_VALUES) seen.add(value);
    return seen.has(value) ? value : 'other';
  };
}

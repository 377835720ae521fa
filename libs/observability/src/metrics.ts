import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Outcome = 'ok' | 'error' | 'cancelled' | 'limit';

/** What a service counts. Ids are never labels; durations are in milliseconds. */
export interface Metrics {
  /** A run reached its end; `status` as the run record has it (`success`, `error`, `interrupted`…). */
  runEnded(status: string): void;
  /** One model turn, from the load of the state to its commit. */
  turnEnded(durationMs: number): void;
  modelTokens(kind: 'input' | 'output', count: number): void;
  modelRetried(reason: string): void;
  toolCallEnded(tool: string, outcome: Outcome): void;
  sandboxReady(durationMs: number): void;
  /** A client asked for events that are gone. */
  streamGap(): void;
  /** One fenced write. */
  redisCommit(durationMs: number): void;
  /** A write was refused because the lease is lost. */
  fenced(): void;
  /** A wake was delivered more than once. */
  redelivered(): void;
  /** A run was taken over from a runner that went away. */
  takenOver(): void;
  /** A thread was read for a memory; `outcome`: learnt, nothing, retry, dead or lost. */
  memoryRead(outcome: string, durationMs: number): void;
  /** Threads with words that memory has not looked at, of all users. */
  memoryDue(count: number): void;
  readonly contentType: string;
  /** All figures in the Prometheus text format. */
  text(): Promise<string>;
}

/** More label values than this are counted as "other": models invent tool names. */
const MAX_LABEL_VALUES = 200;

const fastMs = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1_000, 4_000];
const slowMs = [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000];

/** Metrics of one service in a registry of its own; figures of the process are read when asked, without timers. */
export function createMetrics({ service }: { readonly service: string }): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  const registers = [registry];
  addProcessFigures(registry);
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const labelled = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers });

  const runs = labelled('runs_total', 'Runs that ended', ['outcome']);
  const turns = histogram('turn_duration_ms', 'Model turns, from load to commit', slowMs);
  const tokens = labelled('model_tokens_total', 'Tokens the providers counted', ['kind']);
  const retries = labelled('model_retries_total', 'Model calls tried again', ['reason']);
  const tools = labelled('tool_calls_total', 'Tool calls that ended', ['tool', 'outcome']);
  const sandboxes = histogram('sandbox_ready_ms', 'From the request to a usable sandbox', slowMs);
  const gaps = counter('run_stream_gap_total', 'Streams that asked for events that are gone');
  const commits = histogram('redis_commit_ms', 'Fenced writes', fastMs);
  const fenced = counter('fenced_total', 'Writes refused because the lease was lost');
  const redelivered = counter('redelivered_total', 'Wakes delivered more than once');
  const takenOver = counter('takeovers_total', 'Runs taken over from another runner');
  const readings = labelled('memory_readings_total', 'Threads read for a memory', ['outcome']);
  const readingTimes = histogram('memory_reading_ms', 'Reading one thread for a memory', slowMs);
  const memoryDue = new Gauge({ name: 'memory_due', help: 'Threads whose words memory has not looked at', registers });
  const [toolLabel, reasonLabel] = [boundedLabel(), boundedLabel()];

  return {
    runEnded: (outcome) => {
      runs.inc({ outcome });
    },
    turnEnded: (durationMs) => {
      turns.observe(durationMs);
    },
    modelTokens: (kind, count) => {
      tokens.inc({ kind }, count);
    },
    modelRetried: (reason) => {
      retries.inc({ reason: reasonLabel(reason) });
    },
    toolCallEnded: (tool, outcome) => {
      tools.inc({ tool: toolLabel(tool), outcome });
    },
    sandboxReady: (durationMs) => {
      sandboxes.observe(durationMs);
    },
    streamGap: () => {
      gaps.inc();
    },
    redisCommit: (durationMs) => {
      commits.observe(durationMs);
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
      readings.inc({ outcome });
      readingTimes.observe(durationMs);
    },
    memoryDue: (count) => {
      memoryDue.set(count);
    },
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}

function boundedLabel(): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.size < MAX_LABEL_VALUES) seen.add(value);
    return seen.has(value) ? value : 'other';
  };
}

function addProcessFigures(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.set((user + system) / 1_000_000);
    },
  });
}

import { hostname } from 'node:os';
import type { Scatter } from '@caribou/bus';
import { FleetInfo, type ProcessInfo, type ServiceName, VERSION } from '@caribou/contracts';
import { type Clock, shareRecentResult, systemClock } from '@caribou/core';
import { LoopLag, type MeasuredLag, type Metrics } from '@caribou/observability';
import { type HealthCheck, readinessOf } from './health-server.js';

export interface ReportedProcess {
  readonly service: ServiceName;
  /** The id of this start of the process, under which it has a lease if it has one. */
  readonly processId: string;
  readonly metrics: Pick<Metrics, 'readHoldings' | 'readFigure' | 'measure'>;
  readonly checks: readonly HealthCheck[];
  readonly clock?: Clock;
}

/** Time for the checks: the whole answer has to arrive within the second that the caller waits. */
const CHECKS_MS = 600;
/** Checks and lag are read at most this often, however many ask. */
const RECENT_MS = 1_000;
/** The lag is measured for so long after the last question. */
const MEASURED_FOR_MS = 60_000;
const MAX_PROBLEMS = 32;
const MAX_REASON_CHARS = 300;

/**
 * Answers the question of a gateway about this process. While nobody asks it costs nothing: figures are read, checks made and the lag
 * measured for those who ask.
 */
export class ProcessReport {
  private readonly startedAt: string;
  private readonly lag = new LoopLag();
  private readonly readRecent: () => Promise<{
    readonly problems: ProcessInfo['problems'];
    readonly lag: MeasuredLag | undefined;
  }>;
  private stopMeasuring: NodeJS.Timeout | undefined;
  private draining = false;
  private end: (() => void) | undefined;

  constructor(private readonly reported: ReportedProcess) {
    const { clock = systemClock, metrics } = reported;
    metrics.measure('draining', () => Number(this.draining));
    this.startedAt = new Date(clock.now()).toISOString();
    this.readRecent = shareRecentResult(async () => ({ lag: this.measureLag(), problems: await this.findProblems() }), {
      maxAgeMs: RECENT_MS,
      clock,
    });
  }

  /** Answers from now on. */
  start(bus: Pick<Scatter, 'answerAll'>): void {
    this.end = bus.answerAll(FleetInfo, () => this.describe());
  }

  /** Says from now on that the process ends; it answers until its connection is closed. */
  noteDraining(): void {
    this.draining = true;
  }

  /** Whether the process ends. */
  get isDraining(): boolean {
    return this.draining;
  }

  stop(): void {
    this.end?.();
    clearTimeout(this.stopMeasuring);
    this.lag.stop();
  }

  async describe(): Promise<ProcessInfo> {
    const { service, processId, metrics } = this.reported;
    const [{ problems, lag }, openStreams] = await Promise.all([this.readRecent(), metrics.readFigure('open_streams')]);
    const { slots, caches } = metrics.readHoldings();
    return {
      service,
      id: processId,
      version: VERSION,
      host: hostname(),
      pid: process.pid,
      started_at: this.startedAt,
      state: this.isDraining ? 'draining' : problems.length > 0 ? 'degraded' : 'ready',
      problems,
      slots: slots.map(({ name, used, limit }) => ({ kind: name, used, limit })),
      caches: caches.map(({ name, used, limit }) => ({ name, bytes: used, limit_bytes: limit })),
      loop_lag_ms: lag ?? null,
      resident_bytes: process.memoryUsage.rss(),
      open_streams: openStreams ?? null,
    };
  }

  private measureLag(): MeasuredLag | undefined {
    clearTimeout(this.stopMeasuring);
    this.stopMeasuring = setTimeout(() => this.lag.stop(), MEASURED_FOR_MS).unref();
    return this.lag.read();
  }

  /** What is missing and what is degraded; a process that ends does not look. */
  private async findProblems(): Promise<ProcessInfo['problems']> {
    if (this.isDraining) return [];
    const { missing, degraded } = await readinessOf(this.reported.checks, CHECKS_MS);
    return Object.entries({ ...missing, ...degraded })
      .slice(0, MAX_PROBLEMS)
      .map(([name, reason]) => ({ name, reason: reason.slice(0, MAX_REASON_CHARS) }));
  }
}

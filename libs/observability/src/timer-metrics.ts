import { Counter, Histogram, type Registry } from 'prom-client';

/** What happens at a time or after a run. */
export interface TimerMetrics {
  /** A due time of a cron started a run, this long after it. */
  cronStarted(lateMs: number): void;
  /** Due times of crons that started no run: older than may be made up for, replaced by a newer one, or refused. */
  cronMissed(reason: 'late' | 'replaced' | 'refused', count: number): void;
  /** The start of a run by a cron was put off. */
  cronPutOff(): void;
  /** A run whose time has come was put into its queue. */
  delayedRunStarted(): void;
  /** An attempt to deliver an event; `outcome`: delivered, retry, failed or lost. */
  webhookAttempted(outcome: string, durationMs: number): void;
}

/** @param buckets upper bounds in seconds */
export function addTimerMetrics(registry: Registry, buckets: number[]): TimerMetrics {
  const registers = [registry];
  const lateness = new Histogram({
    name: 'caribou_cron_lateness_seconds',
    help: 'From the due time of a cron to the start of its run',
    buckets,
    registers,
  });
  const missed = new Counter({
    name: 'caribou_cron_missed_total',
    help: 'Due times of crons that started no run',
    labelNames: ['reason'],
    registers,
  });
  const putOff = new Counter({
    name: 'caribou_cron_put_off_total',
    help: 'Starts of runs by crons that are tried again later',
    registers,
  });
  const delayed = new Counter({
    name: 'caribou_delayed_runs_started_total',
    help: 'Runs with after_seconds that were put into their queues',
    registers,
  });
  const attempts = new Histogram({
    name: 'caribou_webhook_attempt_duration_seconds',
    help: 'Attempts to deliver an event to a webhook',
    labelNames: ['outcome'],
    buckets,
    registers,
  });
  return {
    cronStarted: (lateMs) => {
      lateness.observe(lateMs / 1_000);
    },
    cronMissed: (reason, count) => {
      missed.inc({ reason }, count);
    },
    cronPutOff: () => {
      putOff.inc();
    },
    delayedRunStarted: () => {
      delayed.inc();
    },
    webhookAttempted: (outcome, durationMs) => {
      attempts.observe({ outcome }, durationMs / 1_000);
    },
  };
}

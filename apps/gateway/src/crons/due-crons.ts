import { Injectable } from '@nestjs/common';
import { AppError, FencedError, InvalidRequestError, NotFoundError } from '@caribou/contracts';
import { Limiter, type Logger } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { CronStart, CronStore, StoredCron } from '@caribou/state';
import { Dependency } from '../dependency.js';
import { RunsService } from '../runs/runs.service.js';
import type { GatewaySettings } from '../settings.js';
import { entryOf, planRun } from './cron-run.js';
import { type ReadCron, readCron, timesOf } from './cron-spec.js';
import { decide, type DueDecision } from './decide.js';

const LIMITS = {
  /** Crons that one look takes. */
  limit: 50,
  /** Of one user. */
  perUser: 10,
  /** Longer than a start takes: the deadline of its store calls. */
  leaseMs: 6_000,
};
const MAX_AT_ONCE = 8;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/**
 * Starts the runs of crons that are due. Any gateway does, without a leader: a lease keeps the others from the same work, and
 * the admission decides, because it moves the cron to its next due time in the same script.
 */
@Injectable()
export class DueCrons {
  private readonly limiter = new Limiter({
    maxRunning: MAX_AT_ONCE,
    maxWaiting: LIMITS.limit,
    errorWhenFull: () => new Error('more crons were taken than may wait'),
  });

  constructor(
    @Dependency('crons') private readonly crons: CronStore,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'crons'>,
    @Dependency('metrics') private readonly metrics: Pick<Metrics, 'cronStarted' | 'cronMissed' | 'cronPutOff'>,
    @Dependency('logger') private readonly logger: Logger,
    private readonly runs: RunsService,
  ) {}

  /** Handles the crons that are due. Returns ms until the next one is; null: none is known. @throws {UnavailableError} */
  async tick(): Promise<number | null> {
    const { crons, damaged, nowMs, waitMs } = await this.crons.take(LIMITS);
    if (damaged.length > 0)
      this.logger.error(
        { event: 'cron.start', outcome: 'error', count: damaged.length },
        'records of crons are damaged',
      );
    await Promise.all(crons.map((cron) => this.limiter.run(() => this.handleOrWarn(cron, nowMs))));
    return crons.length === LIMITS.limit ? 0 : waitMs;
  }

  /** A failed decision is repeated when the lease has lapsed. */
  private async handleOrWarn(stored: StoredCron, nowMs: number): Promise<void> {
    try {
      await this.handle(stored, nowMs);
    } catch (error) {
      this.logger.warn(
        { ...fieldsOf(stored), outcome: 'error', error },
        'a due cron could not be handled; it is repeated',
      );
    }
  }

  private async handle(stored: StoredCron, nowMs: number): Promise<void> {
    const { dueMs } = stored;
    if (dueMs === null || dueMs > nowMs) return;
    let cron: ReadCron;
    let decision: DueDecision;
    try {
      cron = readCron(stored);
      const { catchUp, catchUpMs, minIntervalSeconds } = this.settings.crons;
      decision = decide(
        timesOf(cron.spec),
        { dueMs, nowMs },
        { catchUp, catchUpMs, minIntervalMs: minIntervalSeconds * 1_000 },
      );
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      // Written by another version: without a readable schedule there is no next due time.
      await this.pass(stored, { startMs: dueMs, nowMs, nextMs: null, missed: 1 }, error.message);
      return;
    }
    await this.carryOut(cron, decision, nowMs);
  }

  private async carryOut(cron: ReadCron, decision: DueDecision, nowMs: number): Promise<void> {
    const { startMs, nextMs, late, replaced } = decision;
    const { stored } = cron;
    if (startMs === null) {
      const text = `${late} due times were missed: no server was there in time (crons.catch_up)`;
      if (await this.pass(stored, { startMs: stored.dueMs ?? nowMs, nowMs, nextMs, missed: late }, text))
        this.metrics.cronMissed('late', late);
      return;
    }
    try {
      const planned = planRun(cron, { startMs, nowMs });
      const { runId, stoppableTask } = planned;
      const { max_runs: maxRuns } = cron.spec;
      const start = { ...startOf(stored, nextMs, late + replaced), maxRuns, entry: planned.entry };
      const apiKey = cron.spec.api_key ?? undefined;
      await this.runs.startForCron(planned.target, planned.body, { runId, apiKey, stoppableTask, cron: start });
      this.metrics.cronStarted(Math.max(0, nowMs - startMs));
      if (late > 0) this.metrics.cronMissed('late', late);
      if (replaced > 0) this.metrics.cronMissed('replaced', replaced);
      const { threadId } = planned.target;
      const fields = { ...fieldsOf(stored), outcome: 'ok', threadId, runId, delayMs: nowMs - startMs };
      this.logger.info(fields, 'a cron has started a run');
    } catch (error) {
      await this.refused(cron, { ...decision, startMs, nowMs }, error);
    }
  }

  /** What follows when a run was not admitted: a later attempt, or the next due time. */
  private async refused(
    { stored, spec }: ReadCron,
    decision: DueDecision & { readonly startMs: number; readonly nowMs: number },
    error: unknown,
  ): Promise<void> {
    if (error instanceof FencedError) return;
    const isDefect = !(error instanceof AppError) || !error.expected;
    this.logger[isDefect ? 'error' : 'info'](
      { ...fieldsOf(stored), outcome: 'error', error },
      'a cron could not start a run',
    );
    if (error instanceof NotFoundError && error.details['threadId'] !== undefined && spec.task === null) {
      await this.crons.remove(stored.userId, stored.cronId);
      return;
    }
    const text = isDefect ? 'internal error' : error.message;
    const passed = { ...decision, missed: decision.late + decision.replaced + 1 };
    if (isDefect || error.retryable) {
      const retryMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(stored.retries, 10));
      if (await this.pass(stored, passed, text, retryMs)) this.metrics.cronPutOff();
    } else if (await this.pass(stored, passed, text)) this.metrics.cronMissed('refused', 1);
  }

  /** Leaves a due time without a run, or puts it off. False: another process has decided. */
  private pass(
    stored: StoredCron,
    { startMs, nowMs, nextMs, missed }: Passed,
    error: string,
    retryMs?: number,
  ): Promise<boolean> {
    const entry = { ...entryOf({ startMs, nowMs }), error };
    const start = { ...startOf(stored, nextMs, missed), maxRuns: null, entry };
    return this.crons.pass(stored.userId, start, { error, ...(retryMs === undefined ? {} : { retryMs }) });
  }
}

interface Passed {
  readonly startMs: number;
  readonly nowMs: number;
  readonly nextMs: number | null;
  readonly missed: number;
}

const startOf = (
  { cronId, version, dueMs }: StoredCron,
  nextMs: number | null,
  missed: number,
): Omit<CronStart, 'entry' | 'maxRuns'> => ({
  cronId,
  version,
  dueMs,
  nextMs,
  missed,
});

const fieldsOf = ({ userId, cronId }: StoredCron) => ({ event: 'cron.start', userId, taskId: cronId });

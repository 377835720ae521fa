import { type Clock, type Logger, settlesWithin } from '@caribou/core';
import type { AuditLine, AuditLog } from '@caribou/state';

export interface AuditTrailOptions {
  readonly log: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Lines that may wait while the audit log is unreachable; further lines are written to the service's log instead. */
  readonly maxWaiting: number;
}

const MAX_BATCH = 100;
const RETRY_MS = 1000;

/**
 * Queues audit lines and writes them to the audit log.
 *
 *  A1  `record` never waits and never throws, so an audit can neither delay an operation nor make it fail.
 *  A2  A line is queued until it has been written. It is lost only when `maxWaiting` lines are queued, or at the end of
 *      `close`; the service's log then says so.
 */
export class AuditTrail {
  private readonly waiting: AuditLine[] = [];
  private writing: Promise<void> | undefined;
  private closing = false;

  constructor(private readonly options: AuditTrailOptions) {}

  record(line: AuditLine): void {
    if (this.waiting.length >= this.options.maxWaiting) {
      this.options.logger.error(
        { event: 'audit.lost', count: 1, auditLines: [line] },
        'an audit line was lost: too many wait',
      );
      return;
    }
    this.waiting.push(line);
    this.writing ??= this.write().finally(() => (this.writing = undefined));
  }

  /** Resolves when all lines are written, or after `graceMs`; the lines that are lost then are logged. */
  async close(graceMs: number): Promise<void> {
    await settlesWithin(this.writing ?? Promise.resolve(), graceMs, this.options.clock);
    this.closing = true;
    if (this.waiting.length === 0) return;
    this.options.logger.error(
      { event: 'audit.lost', count: this.waiting.length, auditLines: this.waiting.slice(0, MAX_BATCH) },
      'audit lines were lost: the log did not answer before the stop',
    );
  }

  /** Writes lines until the queue is empty. Never rejects. */
  private async write(): Promise<void> {
    const { log, logger, clock } = this.options;
    while (this.waiting.length > 0 && !this.closing) {
      const batch = this.waiting.slice(0, MAX_BATCH);
      try {
        await log.append(batch);
        this.waiting.splice(0, batch.length);
      } catch (error) {
        // Every error ends here; the lines are written again after a pause.
        logger.error({ event: 'audit.write', outcome: 'error', error }, 'audit lines were not written');
        await clock.sleep(RETRY_MS);
      }
    }
  }
}

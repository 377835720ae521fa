import { type Clock, type Logger, settledWithin } from '@caribou/core';
import type { AuditLine, AuditLog } from '@caribou/state';

export interface AuditTrailOptions {
  readonly log: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Lines that may wait while the log is away; more are lost, and the service's log says how many. */
  readonly maxWaiting: number;
}

const MAX_BATCH = 100;
const RETRY_MS = 1000;

/**
 * The way of audit lines to the log.
 *
 *  A1  `record` never waits and never throws: an operation does not become slower or fail by being audited
 *  A2  a line stays queued until the log has it; it is lost only over `maxWaiting`, or at the end of `close`, and never
 *      in silence
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

  /** Resolves when all lines are written, or after `graceMs`; says in the log what is lost then. */
  async close(graceMs: number): Promise<void> {
    await settledWithin(this.writing ?? Promise.resolve(), graceMs, this.options.clock);
    this.closing = true;
    if (this.waiting.length === 0) return;
    this.options.logger.error(
      { event: 'audit.lost', count: this.waiting.length, auditLines: this.waiting.slice(0, MAX_BATCH) },
      'audit lines were lost: the log did not answer before the stop',
    );
  }

  /** Writes until none waits. Never rejects. */
  private async write(): Promise<void> {
    const { log, logger, clock } = this.options;
    while (this.waiting.length > 0 && !this.closing) {
      const batch = this.waiting.slice(0, MAX_BATCH);
      try {
        await log.append(batch);
        this.waiting.splice(0, batch.length);
      } catch (error) {
        // The wall of auditing: whatever the log says, the lines are tried again.
        logger.error({ event: 'audit.write', outcome: 'error', error }, 'audit lines were not written');
        await clock.sleep(RETRY_MS);
      }
    }
  }
}

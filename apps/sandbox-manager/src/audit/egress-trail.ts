import { newId, omitUndefined } from '@caribou/contracts';
import type { Clock, Logger } from '@caribou/core';
import { type EgressEntry, formatTarget } from '@caribou/egress';
import type { SandboxSpec } from '@caribou/sandbox';
import type { AuditTrail } from './audit-trail.js';

export interface EgressTrailOptions {
  readonly managerId: string;
  readonly trail: Pick<AuditTrail, 'record'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Allowance of a sandbox: lines it may write at once, and how many are added per second. */
const BURST = 100;
const PER_SECOND = 1;
/** Sandboxes whose allowance is remembered; beyond that, the one with the oldest connection is forgotten. */
const MAX_SANDBOXES = 1000;

interface Allowance {
  readonly lines: number;
  readonly atMs: number;
  /** Connections without a line since the last line. */
  readonly unrecorded: number;
}

/**
 * Records the connections of sandboxes in the log and in the audit stream. A sandbox with very many connections must not
 * push other lines out of the stream: beyond its allowance, connections are only counted, and the next line contains the
 * number.
 */
export class EgressTrail {
  private readonly allowances = new Map<string, Allowance>();

  constructor(private readonly options: EgressTrailOptions) {}

  record(sandbox: SandboxSpec, entry: EgressEntry): void {
    const { lines, atMs, unrecorded } = this.allowanceOf(sandbox.sandboxId);
    const mayWrite = lines >= 1;
    this.remember(sandbox.sandboxId, {
      lines: mayWrite ? lines - 1 : lines,
      atMs,
      unrecorded: mayWrite ? 0 : unrecorded + 1,
    });
    if (mayWrite) this.write(sandbox, entry, unrecorded);
  }

  private allowanceOf(sandboxId: string): Allowance {
    const nowMs = this.options.clock.monotonicMs();
    const known = this.allowances.get(sandboxId) ?? { lines: BURST, atMs: nowMs, unrecorded: 0 };
    const earned = ((nowMs - known.atMs) / 1000) * PER_SECOND;
    return { lines: Math.min(BURST, known.lines + earned), atMs: nowMs, unrecorded: known.unrecorded };
  }

  private remember(sandboxId: string, allowance: Allowance): void {
    this.allowances.delete(sandboxId);
    this.allowances.set(sandboxId, allowance);
    const oldest = this.allowances.keys().next();
    if (this.allowances.size > MAX_SANDBOXES && oldest.done !== true) this.allowances.delete(oldest.value);
  }

  private write({ userId, threadId, sandboxId }: SandboxSpec, entry: EgressEntry, unrecorded: number): void {
    const { managerId, trail, clock, logger } = this.options;
    const { method, host, port, verdict, reason, bytesUp, bytesDown, durationMs } = entry;
    const bytes = bytesUp + bytesDown;
    const target = port === undefined ? host : formatTarget({ host, port });
    logger.info(
      {
        event: 'egress.connection',
        outcome: verdict === 'allowed' ? 'ok' : 'error',
        userId,
        threadId,
        sandboxId,
        method,
        host,
        bytes,
        durationMs,
        ...omitUndefined({ port, reason }),
        ...(unrecorded === 0 ? {} : { count: unrecorded }),
      },
      `a connection of a sandbox: ${verdict}${unrecorded === 0 ? '' : `; ${unrecorded} before it were not written down`}`,
    );
    trail.record({
      id: newId(),
      at: new Date(clock.now()).toISOString(),
      user_id: userId,
      thread_id: threadId,
      operation: 'egress',
      what: `${method} ${target}`,
      verdict,
      bytes,
      duration_ms: durationMs,
      manager_id: managerId,
    });
  }
}

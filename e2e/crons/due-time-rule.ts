import type { CronRun } from '@caribou/state';

/** `crons.catch_up`. */
export type CatchUp = 'latest' | 'all' | 'none';

/** What a cron did, and the documented rule for it (docs/crons.md, "After an outage"). */
export interface CronHistory {
  readonly catchUp: CatchUp;
  /** `crons.catch_up_ms`. */
  readonly catchUpMs: number;
  /** Milliseconds between two due times. */
  readonly stepMs: number;
  /** The first due time, as the cron's creation announced it, in ms since 1970. */
  readonly firstMs: number;
  /** The due time that was next when the cron was last read: all before it are decided. */
  readonly nextMs: number;
  /** The cron's decisions. `createdAt` is the clock of Redis at the decision. */
  readonly decisions: readonly CronRun[];
}

/** What became of the due times, and where that differs from the rule. */
export interface DueTimes {
  readonly started: readonly number[];
  /** Too late by the rule. */
  readonly late: readonly number[];
  /** A newer due time started its run instead. */
  readonly replaced: readonly number[];
  readonly faults: readonly string[];
}

/** With `none` a due time may still be this late. */
const GRACE_MS = 10_000;

interface Decision {
  readonly dueMs: number;
  readonly decidedMs: number;
  readonly runId: string | undefined;
}

/**
 * Compares each due time with the rule, exactly: what became of it depends only on when the cron was decided about, by the
 * clock of Redis, and each decision is recorded with that time.
 */
export function judgeDueTimes(history: CronHistory): DueTimes {
  const { catchUp, catchUpMs, stepMs, firstMs, nextMs } = history;
  const windowMs = catchUp === 'none' ? Math.min(GRACE_MS, catchUpMs) : catchUpMs;
  const found = { started: [] as number[], late: [] as number[], replaced: [] as number[], faults: [] as string[] };
  const fault = (text: string, { dueMs, decidedMs }: Decision): void =>
    void found.faults.push(`${new Date(dueMs).toISOString()}, decided ${decidedMs - dueMs} ms later: ${text}`);
  let dueMs = firstMs;
  /** Due times until before `untilMs` that start nothing by this decision. */
  const leaveOut = (untilMs: number, { decidedMs, runId }: Decision): void => {
    for (; dueMs < untilMs; dueMs += stepMs) {
      const isLate = decidedMs - dueMs > windowMs;
      if (isLate) found.late.push(dueMs);
      else if (catchUp === 'latest' && runId !== undefined) found.replaced.push(dueMs);
      else fault('started nothing, without a reason in the rule', { dueMs, decidedMs, runId });
    }
  };
  for (const decision of decisionsOf(history)) {
    const { decidedMs, runId } = decision;
    if (decision.dueMs < dueMs || (decision.dueMs - firstMs) % stepMs !== 0) {
      fault('was decided twice, or is no due time', decision);
      continue;
    }
    leaveOut(decision.dueMs, decision);
    if (runId === undefined) {
      leaveOut(decidedMs + 1, decision);
      continue;
    }
    const lateMs = decidedMs - dueMs;
    if (lateMs < 0) fault('started before its time', decision);
    if (lateMs > windowMs) fault('started too late', decision);
    if (catchUp === 'latest' && lateMs >= stepMs) fault('started, and a newer one was due', decision);
    found.started.push(dueMs);
    dueMs += stepMs;
  }
  for (; dueMs < nextMs; dueMs += stepMs) found.faults.push(`${new Date(dueMs).toISOString()}: was never decided`);
  return found;
}

/** In the order in which they were made. */
const decisionsOf = ({ decisions }: CronHistory): readonly Decision[] =>
  decisions
    .map(({ scheduledFor, createdAt, runId }) => ({
      dueMs: Date.parse(scheduledFor),
      decidedMs: Date.parse(createdAt),
      runId,
    }))
    .sort((a, b) => a.dueMs - b.dueMs || a.decidedMs - b.decidedMs);

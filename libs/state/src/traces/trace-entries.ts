import { MultitaskStrategy, type RunRecord, RunStatus } from '@caribou/contracts';
import { parseStored } from '../redis/stored-json.js';
import { describeProcess } from './process-name.js';
import { type FoundEntry, isoOf, stepEntries, type Unnumbered } from './step-entries.js';
import { nextIn } from './step-text.js';
import { stepOf, type TracePart } from './trace-parts.js';

/** What the entries of a part need besides it. */
export interface PartContext {
  /** When the run was admitted, by the clock of Redis; undefined when that is not known. */
  readonly admittedMs: number | undefined;
  /** The part that follows. */
  readonly next: TracePart | undefined;
  /** The owner of the last claim before; undefined when that is not known. */
  readonly owner: string | undefined;
  /** The run's record, for what its end says. */
  readonly run: Pick<RunRecord, 'stop_reason' | 'error'> | null;
}

/** The entries of one part of a trace, in order. */
export function entriesOf(part: TracePart, context: PartContext): readonly FoundEntry[] {
  switch (part.kind) {
    case 'a':
      return admittedEntries(part);
    case 'c':
      return claimEntries(part, context).map(found);
    case 's':
      return [...stepEntries(stepOf(part), part.ms), found(commitEntry(part, context))];
    case 'e':
      return endEntries(part, context);
    default:
      return [found(noticeEntry(part))];
  }
}

const found = (entry: Unnumbered): FoundEntry => ({ entry });

/** A value of a trace part; '-' means that it is absent. */
const orNull = (value: string | undefined): string | null => (value === undefined || value === '-' ? null : value);

const processIn = (value: string | undefined): string => describeProcess(value ?? '-');
const processOrNull = (value: string | undefined): string | null => {
  const known = orNull(value);
  return known === null ? null : describeProcess(known);
};

const REQUESTS = ['input', 'command', 'fork', 'cron', 'delayed', 'task'] as const;

function admittedEntries({ ms, values: [process, apiKey, strategy, asked], text }: TracePart): readonly FoundEntry[] {
  const admitted = found({
    type: 'admitted',
    at: isoOf(ms),
    process: processOrNull(process),
    api_key: orNull(apiKey),
    strategy: MultitaskStrategy.catch('enqueue').parse(strategy),
    request: REQUESTS.find((request) => request === asked) ?? 'input',
  });
  if (text === '') return [admitted];
  const [by, ...ids] = parseStored<readonly [string | null, ...string[]]>(text);
  return [admitted, found({ type: 'answered', at: isoOf(ms), interrupt_ids: ids, by })];
}

function claimEntries({ ms, values }: TracePart, { admittedMs }: PartContext): readonly Unnumbered[] {
  const [owner, attemptText = '1', before, reason] = values;
  const [at, process, attempt] = [isoOf(ms), processIn(owner), Number(attemptText)];
  if (reason === undefined) {
    const queued = admittedMs === undefined ? null : Math.max(0, ms - admittedMs);
    return [{ type: 'claimed', at, process, attempt, queued_ms: queued }];
  }
  const why = reason === 'process_died' || reason === 'released' ? reason : 'lease_lapsed';
  const from = processOrNull(before);
  return [
    { type: 'taken_over', at, process, attempt, from, reason: why, lost_step: why !== 'released' },
    { type: 'claimed', at, process, attempt, queued_ms: null },
  ];
}

function commitEntry(part: TracePart, { next }: Pick<PartContext, 'next'>): Unnumbered {
  const text = stepOf(part);
  const { n: step = null, b: bytes = null } = text;
  const duration = next !== undefined && (next.kind === 's' || next.kind === 'e') ? stepOf(next).p : undefined;
  return {
    type: 'commit',
    at: isoOf(part.ms),
    step,
    checkpoint_id: part.values[0] ?? '',
    next: nextIn(text),
    duration_ms: duration ?? null,
    bytes,
  };
}

function endEntries(part: TracePart, { run, owner }: PartContext): readonly FoundEntry[] {
  const [checkpoint, status, queued] = part.values;
  const at = isoOf(part.ms);
  const step = stepOf(part);
  const interrupts = (step.i ?? []).map(([id, kind, expiresMs]) => ({
    ...{ id, kind },
    expires_at: typeof expiresMs === 'number' ? isoOf(expiresMs) : null,
  }));
  return [
    ...stepEntries(step, part.ms),
    ...(orNull(checkpoint) === null ? [] : [found(commitEntry(part, { next: undefined }))]),
    ...(interrupts.length === 0 ? [] : [found({ type: 'interrupted', at, interrupts })]),
    found({
      type: 'ended',
      at,
      status: RunStatus.catch('error').parse(status),
      reason: run?.stop_reason ?? null,
      error: run?.error ?? null,
      process: queued === undefined ? processOrNull(owner) : null,
    }),
  ];
}

function noticeEntry({ kind, ms, values }: TracePart): Unnumbered {
  const at = isoOf(ms);
  const [first, second] = values;
  switch (kind) {
    case 'h':
      return {
        type: 'handed_over',
        at,
        process: processIn(first),
        reason: second === 'store_unavailable' ? second : 'draining',
      };
    case 'f':
      return { type: 'fenced', at, process: processIn(first), reason: second ?? '' };
    case 'x':
      return {
        type: 'cancel_requested',
        at,
        action: first === 'rollback' ? first : 'interrupt',
        by: orNull(second) ?? 'unknown',
      };
    case 'p':
      return { type: 'paused', at, by: orNull(first) };
    default:
      return { type: 'note', at, note: 'unreadable', dropped: 1 };
  }
}

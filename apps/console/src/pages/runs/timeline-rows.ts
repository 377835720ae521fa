import type { TraceEntry } from '../../api/trace.js';
import type { Tone } from '../../components/badge.js';
import { explain } from '../../text/explain.js';

/** A line of the timeline. */
export interface TimelineRow {
  readonly entry: TraceEntry;
  /** Milliseconds after the first entry. */
  readonly offsetMs: number;
  readonly durationMs: number | null;
  readonly title: string;
  readonly detail: string;
  readonly tone: Tone;
  /** Of the last claim before it, or its own; 0: before the first one. */
  readonly attempt: number;
}

export type TimelineFilter = keyof typeof explain.filters;

const filtered: Readonly<Record<Exclude<TimelineFilter, 'all'>, readonly TraceEntry['type'][]>> = {
  processes: [
    'admitted',
    'claimed',
    'taken_over',
    'handed_over',
    'fenced',
    'cancel_requested',
    'paused',
    'ended',
    'note',
  ],
  model: ['model_call'],
  tools: ['tool_call', 'task'],
  commits: ['commit'],
};

/** The entries of a trace as lines, by time; parts of a step have the time when they began. */
export function timelineRows(entries: readonly TraceEntry[]): readonly TimelineRow[] {
  const sorted = [...entries].sort((one, other) => Date.parse(one.at) - Date.parse(other.at) || one.seq - other.seq);
  const startMs = sorted[0] === undefined ? 0 : Date.parse(sorted[0].at);
  let attempt = 0;
  return sorted.map((entry) => {
    if (entry.type === 'claimed' || entry.type === 'taken_over') attempt = entry.attempt;
    return {
      entry,
      offsetMs: Date.parse(entry.at) - startMs,
      durationMs: durationOf(entry),
      title: titleOf(entry),
      detail: detailOf(entry),
      tone: toneOf(entry),
      attempt,
    };
  });
}

export const filterRows = (rows: readonly TimelineRow[], filter: TimelineFilter): readonly TimelineRow[] =>
  filter === 'all' ? rows : rows.filter(({ entry }) => filtered[filter].includes(entry.type));

/** The end of the last line, in milliseconds after the first. */
export const spanOf = (rows: readonly TimelineRow[]): number =>
  rows.reduce((end, { offsetMs, durationMs }) => Math.max(end, offsetMs + (durationMs ?? 0)), 0);

const durationOf = (entry: TraceEntry): number | null => ('duration_ms' in entry ? entry.duration_ms : null);

function titleOf(entry: TraceEntry): string {
  const kind = explain.kinds[entry.type];
  if (entry.type === 'model_call') return `${kind} ${entry.model}`;
  if (entry.type === 'tool_call') return `${kind} ${entry.name}`;
  if (entry.type === 'task') return `${kind} ${entry.subagent_type ?? ''}`.trim();
  if (entry.type === 'ended') return `${kind}: ${entry.status}`;
  return kind;
}

/** Middlewares that a line names. */
const NAMED_HOOKS = 3;

function detailOf(entry: TraceEntry): string {
  switch (entry.type) {
    case 'admitted':
      return explain.admitted(entry.process, entry.request);
    case 'claimed':
      return explain.claimed(entry.process, entry.queued_ms);
    case 'taken_over':
      return explain.takenOver(entry.process, entry.from, explain.takeoverReasons[entry.reason]);
    case 'handed_over':
      return explain.handedOver(entry.process, explain.handOverReasons[entry.reason]);
    case 'fenced':
      return explain.fenced(entry.process, entry.reason);
    case 'note':
      return explain.notes[entry.note](entry.dropped);
    case 'interrupted':
    case 'answered':
    case 'paused':
    case 'cancel_requested':
    case 'ended':
      return endingDetail(entry);
    default:
      return workDetail(entry);
  }
}

type Ending = Extract<TraceEntry, { type: 'interrupted' | 'answered' | 'paused' | 'cancel_requested' | 'ended' }>;

function endingDetail(entry: Ending): string {
  if (entry.type === 'interrupted') return entry.interrupts.map(({ kind }) => kind).join(', ');
  if (entry.type === 'cancel_requested') return explain.cancelBy(entry.action, entry.by);
  if (entry.type !== 'ended') return explain.by(entry.by);
  return entry.error === null ? (entry.reason ?? '') : `${entry.error.name}: ${entry.error.message}`;
}

type Work = Extract<TraceEntry, { type: 'model_call' | 'tool_call' | 'commit' | 'task' | 'hooks' }>;

function workDetail(entry: Work): string {
  if (entry.type === 'hooks') {
    const names = entry.parts.slice(0, NAMED_HOOKS).map(({ middleware }) => middleware);
    return explain.hooksOf(names, entry.parts.length - names.length);
  }
  if (entry.type === 'commit') return explain.commitTo(entry.next);
  if (entry.type === 'task') return entry.outcome;
  if (entry.type === 'tool_call') return joined(entry.outcome, entry.error);
  const why = explain.because[entry.because];
  const failure = entry.error === null ? null : `${entry.error.reason ?? entry.error.name}: ${entry.error.message}`;
  return joined(
    why,
    entry.outcome === 'ok' ? explain.tokens(entry.input_tokens, entry.output_tokens) : entry.outcome,
    failure,
  );
}

const joined = (...parts: readonly (string | null)[]): string =>
  parts.filter((part) => part !== null && part !== '').join(' · ');

const good: readonly string[] = ['success', 'ok'];
const warn: readonly string[] = ['interrupted', 'aborted', 'unknown', 'pending', 'running'];

function toneOf(entry: TraceEntry): Tone {
  if (entry.type === 'taken_over' || entry.type === 'fenced' || entry.type === 'cancel_requested') return 'warn';
  if (entry.type === 'note' || entry.type === 'handed_over' || entry.type === 'interrupted') return 'warn';
  if (entry.type === 'ended') return toneOfOutcome(entry.status);
  return 'outcome' in entry ? toneOfOutcome(entry.outcome) : 'neutral';
}

/** How a status of a run or an outcome of a call is shown. */
export function toneOfOutcome(outcome: string): Tone {
  if (good.includes(outcome)) return 'good';
  return warn.includes(outcome) ? 'warn' : 'bad';
}

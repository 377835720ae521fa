import type { RunEventOf } from '@caribou/contracts';
import type { RunEventLog } from '@caribou/state';
import type { Happened } from './event-order.js';

export const MIDDLEWARE_PREFIX = 'middleware:';
/** Characters of the part after the prefix: DeerFlow's types have at most 32. */
const MAX_TAG_CHARS = 21;
const MAX_VALUE_CHARS = 500;
const PAGE = 1_000;
/** Parts of the log that one request reads; the log is trimmed to its byte limit long before. */
const MAX_PAGES = 100;

export interface MiddlewareEvents {
  readonly events: readonly Happened[];
  /** How much of the run's event log is still stored. */
  readonly log: 'complete' | 'trimmed' | 'expired';
}

/**
 * What middlewares have changed in the state, by the event log of the run: it is all that records them, and expires some time
 * after the end of the run. The time of a change is that of the checkpoint that contains it.
 *
 * @param lastSeq number of the newest event that was ever written to the log
 */
export async function middlewareEvents(
  log: RunEventLog,
  { userId, runId, lastSeq }: { readonly userId: string; readonly runId: string; readonly lastSeq: number },
): Promise<MiddlewareEvents> {
  const events: Happened[] = [];
  let pending: RunEventOf<'task.end'>[] = [];
  let oldest: number | undefined;
  let after = 0;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const read = await log.read(userId, runId, { after, limit: PAGE });
    oldest ??= read.firstKept;
    for (const { event } of read.events) {
      if (event.kind === 'task.end' && changesState(event)) pending.push(event);
      if (event.kind !== 'checkpoint') continue;
      events.push(...pending.map((change) => toEvent(change, event.created_at)));
      pending = [];
    }
    const last = read.events.at(-1);
    if (last === undefined || last.seq >= read.lastSeq) break;
    after = last.seq;
  }
  return { events, log: logState(oldest ?? 0, lastSeq) };
}

function logState(firstKept: number, lastSeq: number): MiddlewareEvents['log'] {
  if (firstKept === 0 && lastSeq > 0) return 'expired';
  return firstKept > 1 ? 'trimmed' : 'complete';
}

/** Nodes of middlewares are `<middleware>.<hook>`. */
const changesState = ({ node, update }: RunEventOf<'task.end'>): boolean =>
  node.includes('.') && update !== null && Object.values(update).some((value) => value !== undefined);

function toEvent({ node, update }: RunEventOf<'task.end'>, createdAt: string): Happened {
  const name = node.slice(0, node.lastIndexOf('.'));
  const tag = name.replaceAll('-', '_').slice(0, MAX_TAG_CHARS);
  return {
    source: 'middleware',
    event_type: `${MIDDLEWARE_PREFIX}${tag}`,
    category: 'middleware',
    content: { name, hook: node.slice(name.length + 1), action: 'update_state', changes: changesOf(update ?? {}) },
    metadata: {},
    created_at: createdAt,
  };
}

/** The channels that an update changes, with the values of those that are short. */
function changesOf(update: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const changed = Object.entries(update).filter(([, value]) => value !== undefined);
  const short = changed.filter(([, value]) =>
    typeof value === 'string' ? value.length <= MAX_VALUE_CHARS : value === null || typeof value !== 'object',
  );
  return { channels: changed.map(([channel]) => channel), ...Object.fromEntries(short) };
}

import type { Message } from '@caribou/contracts';
import type { FeedRow, ThreadStore } from '@caribou/state';
import type { ThreadKey } from '@caribou/core';
import type { Happened } from './event-order.js';
import { LEAD_CALLER } from './lifecycle-events.js';

/** The types of events that messages are. */
export const MESSAGE_TYPES = {
  human: 'llm.human.input',
  system: 'llm.human.input',
  ai: 'llm.ai.response',
  tool: 'llm.tool.result',
} as const satisfies Record<Message['type'], string>;

const PAGE = 200;
/** Pages of the timeline that one request reads; each looks at up to 5,000 rows. */
const MAX_PAGES = 100;
/** Characters of messages, as JSON, after the millisecond of the cursor. */
export const MAX_CHARS = 4 * 1024 * 1024;
/** More messages than one commit has: those of the millisecond of a cursor are read whole, as they are numbered together. */
const MAX_OF_MS = 1_500;

interface Part {
  readonly runId: string;
  /** Earlier messages are left out. */
  readonly fromMs: number;
  /** Messages that are wanted after that millisecond. */
  readonly limit: number;
}

export interface MessageEvents {
  /** Oldest first. */
  readonly events: readonly Happened[];
  /** Whether messages follow that were left out. */
  readonly isCut: boolean;
}

/**
 * The messages of a run that users see: those of the millisecond `fromMs` and at most `limit` later ones, fewer when they are large,
 * but one at least.
 */
export async function messageEvents(
  store: Pick<ThreadStore, 'readFeed'>,
  thread: ThreadKey,
  { runId, fromMs, limit }: Part,
): Promise<MessageEvents> {
  let rows: FeedRow[] = [];
  let isCut = false;
  let answersBefore = 0;
  let before: number | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const read = await store.readFeed(thread, { limit: PAGE, runId, ...(before === undefined ? {} : { before }) });
    const isWanted = ({ createdAt }: FeedRow): boolean => Date.parse(createdAt) >= fromMs;
    answersBefore += read.rows.filter((row) => !isWanted(row) && row.message.type === 'ai').length;
    const found = [...read.rows.filter(isWanted), ...rows];
    rows = firstOf(found, { fromMs, count: limit + MAX_OF_MS });
    isCut ||= rows.length < found.length;
    if (read.nextBefore === null) break;
    before = read.nextBefore;
  }
  let call = answersBefore;
  return { isCut, events: rows.map((row) => toEvent(row, row.message.type === 'ai' ? (call += 1) : call)) };
}

/** The first rows, at most `count`, and of those after `fromMs` as many as the limit of characters allows, but one at least. */
function firstOf(rows: FeedRow[], { fromMs, count }: { readonly fromMs: number; readonly count: number }): FeedRow[] {
  const firstLater = rows.findIndex(({ createdAt }) => Date.parse(createdAt) > fromMs);
  let chars = 0;
  const end = rows.findIndex(({ message }, index) => {
    if (firstLater >= 0 && index >= firstLater) chars += JSON.stringify(message).length;
    return index >= count || (index > firstLater && chars > MAX_CHARS);
  });
  return end < 0 ? rows : rows.slice(0, end);
}

const toEvent = ({ message, createdAt }: FeedRow, call: number): Happened => ({
  source: 'message',
  event_type: MESSAGE_TYPES[message.type],
  category: 'message',
  content: message,
  metadata:
    message.type === 'ai'
      ? { caller: LEAD_CALLER, usage: message.usage_metadata ?? {}, latency_ms: null, llm_call_index: call }
      : { caller: LEAD_CALLER },
  created_at: createdAt,
});

import type { FeedPageReply } from '@caribou/contracts';
import type { ConversationState } from './conversation-state.js';
import { type Item, itemOfFeed } from './items.js';

/** A page of the feed with the request that it answers. */
export interface ReadPage {
  readonly page: FeedPageReply;
  /** Undefined: the newest page. */
  readonly before: number | undefined;
  /** When it was asked for, in any increasing unit. */
  readonly readAt: number;
}

/**
 * Merges a page of the feed, which is the truth about its range: what is known of that range and not in the page was replaced,
 * rolled back or deleted. Pages that arrive out of order change nothing.
 */
export function withPage(state: ConversationState, read: ReadPage): ConversationState {
  return read.before === undefined ? withNewest(state, read) : withOlder(state, read, read.before);
}

function withNewest(state: ConversationState, { page, readAt }: ReadPage): ConversationState {
  if (readAt < state.readAt) return state;
  const items = itemsOf(page);
  const lowest = page.data[0]?.seq ?? 0;
  const ids = new Set(items.map(({ id }) => id));
  // Without a common message there may be others between what is known and the page.
  const isConnected = !page.has_more || state.stored.some(({ id }) => ids.has(id));
  const older = isConnected && page.has_more ? state.stored.filter((item) => seqOf(item) < lowest) : [];
  const lost = state.stored.filter((item) => isLost(item) && seqOf(item) >= lowest && !ids.has(item.id));
  return {
    ...state,
    readAt,
    stored: inOrder([...older, ...(isConnected ? lost : []), ...items]),
    olderBefore: isConnected && older.length > 0 ? state.olderBefore : page.next_before_seq,
    live: without(state.live, ids),
    pending: without(state.pending, ids),
  };
}

function withOlder(state: ConversationState, { page }: ReadPage, before: number): ConversationState {
  if (state.olderBefore !== before) return state;
  const items = itemsOf(page);
  const ids = new Set(items.map(({ id }) => id));
  const newer = state.stored.filter((item) => seqOf(item) >= before && !ids.has(item.id));
  return { ...state, stored: inOrder([...items, ...newer]), olderBefore: page.next_before_seq };
}

/**
 * Ends the showing of a run, after the feed was read. What streamed and was not stored stays visible, marked, at the position where
 * it came; everything else is in the feed by now or was rolled back.
 */
export function withoutRun(state: ConversationState, { isGone }: { readonly isGone: boolean }): ConversationState {
  const last = state.stored.at(-1);
  const seq = (last === undefined ? 0 : seqOf(last)) + 0.5;
  const lost = isGone
    ? []
    : state.live.flatMap((item): Item[] =>
        item.kind === 'answer' && item.state === 'streaming' && item.text + item.reasoning !== ''
          ? [{ ...item, state: 'lost', seq, calls: [] }]
          : [],
      );
  return { ...state, stored: [...state.stored, ...lost], live: [], run: undefined, outputs: new Map() };
}

const itemsOf = (page: FeedPageReply): Item[] => page.data.flatMap((entry) => itemOfFeed(entry) ?? []);

const isLost = (item: Item): boolean => item.kind === 'answer' && item.state === 'lost';

const seqOf = (item: Item): number => item.seq ?? Number.POSITIVE_INFINITY;

const inOrder = (items: readonly Item[]): Item[] => items.toSorted((one, other) => seqOf(one) - seqOf(other));

const without = <One extends Item>(items: readonly One[], ids: ReadonlySet<string>): readonly One[] =>
  items.some(({ id }) => ids.has(id)) ? items.filter(({ id }) => !ids.has(id)) : items;

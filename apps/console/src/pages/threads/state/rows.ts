import type { ConversationState } from './conversation-state.js';
import type { Answer, Item, Result, Said } from './items.js';

/** What the list of messages shows: a message of the person, or an answer with the results of its calls. */
export type Row =
  | { readonly kind: 'said'; readonly key: string; readonly said: Said }
  | {
      readonly kind: 'answer';
      readonly key: string;
      readonly answer: Answer;
      /** By the id of the call; calls without one are under way or were stopped. */
      readonly results: ReadonlyMap<string, Result>;
      /** Whether it is the last answer of its turn. */
      readonly isLast: boolean;
    }
  | { readonly kind: 'result'; readonly key: string; readonly result: Result };

const NO_RESULTS: ReadonlyMap<string, Result> = new Map();

/** Rows of all messages in order; what has not changed since `before` is the same object, so that it is not drawn again. */
export function rowsOf(
  state: Pick<ConversationState, 'stored' | 'live' | 'pending'>,
  before: readonly Row[] = [],
): readonly Row[] {
  const items = [...state.stored, ...state.live, ...state.pending];
  const results = resultsByAnswer(items);
  const known = new Map(before.map((row) => [row.key, row]));
  const rows: Row[] = [];
  for (const [index, item] of items.entries()) {
    const row = rowOf(item, results, isLastOfTurn(items, index));
    if (row === undefined) continue;
    const same = known.get(row.key);
    rows.push(same !== undefined && isSame(same, row) ? same : row);
  }
  return rows;
}

interface Grouped {
  readonly byAnswer: ReadonlyMap<string, ReadonlyMap<string, Result>>;
  readonly called: ReadonlySet<string>;
}

function resultsByAnswer(items: readonly Item[]): Grouped {
  const owners = new Map<string, string>();
  const byAnswer = new Map<string, Map<string, Result>>();
  const called = new Set<string>();
  for (const item of items) {
    if (item.kind === 'answer') for (const { id } of item.calls) owners.set(id, item.id);
    if (item.kind !== 'result') continue;
    const owner = owners.get(item.callId);
    if (owner === undefined) continue;
    called.add(item.id);
    byAnswer.set(owner, (byAnswer.get(owner) ?? new Map<string, Result>()).set(item.callId, item));
  }
  return { byAnswer, called };
}

function rowOf(item: Item, { byAnswer, called }: Grouped, isLast: boolean): Row | undefined {
  switch (item.kind) {
    case 'said':
      return { kind: 'said', key: item.id, said: item };
    case 'answer':
      return { kind: 'answer', key: item.id, answer: item, results: byAnswer.get(item.id) ?? NO_RESULTS, isLast };
    case 'result':
      // The answer that called it is on an older page.
      return called.has(item.id) ? undefined : { kind: 'result', key: item.id, result: item };
  }
}

/** A turn ends before the next message of the person, or where another run begins. */
function isLastOfTurn(items: readonly Item[], index: number): boolean {
  const runId = items[index]?.runId;
  for (let at = index + 1; at < items.length; at += 1) {
    const next = items[at];
    if (next === undefined || next.kind === 'said' || next.runId !== runId) return true;
    if (next.kind === 'answer') return false;
  }
  return true;
}

function isSame(one: Row, other: Row): boolean {
  if (one.kind === 'said' && other.kind === 'said') return one.said === other.said;
  if (one.kind === 'result' && other.kind === 'result') return one.result === other.result;
  if (one.kind !== 'answer' || other.kind !== 'answer') return false;
  const { answer, results, isLast } = other;
  return one.answer === answer && one.isLast === isLast && haveSame(one.results, results);
}

const haveSame = (one: ReadonlyMap<string, Result>, other: ReadonlyMap<string, Result>): boolean =>
  one.size === other.size && [...one].every(([callId, result]) => other.get(callId) === result);

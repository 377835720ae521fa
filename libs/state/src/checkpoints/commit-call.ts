import {
  CHANNEL_NAMES,
  type ClientInterrupt,
  clientInterruptsOf,
  isShownToUsers,
  type ChannelName,
  type CheckpointMetadata,
  type RunEventOf,
  type ThreadContext,
  type ThreadState,
} from '@caribou/contracts';
import { memoize } from '@caribou/core';
import type { CommitRequest, ThreadHead } from '../ports/run-store.js';
import { checkpointText } from './checkpoint-text.js';
import { HeadLog, type LogCounters, logOf, type LogPlan, planLog } from './head-log.js';
import type { Sweep } from './log-sweep.js';
import { entryCounts, type LogEntry } from '../events/log-entries.js';
import { compressShared, compressTexts, type StoredText } from '../redis/stored-text.js';
import type { Params } from '../redis/thread-call.js';
import type { LedgerSettings, StoreSettings } from '../redis/store-settings.js';
import { budgetCheck, usageParams } from '../usage/usage-call.js';

/** A checkpoint before it is written: everything but its id and time, which the script sets. */
export interface CheckpointDraft {
  /** The head that is replaced. */
  readonly head: ThreadHead;
  /** The checkpoint that it is based on. */
  readonly from: ThreadHead;
  readonly state: ThreadState;
  readonly next: CommitRequest['next'];
  readonly metadata: CheckpointMetadata;
  readonly error?: CommitRequest['error'] | undefined;
}

/** The parameter `p.commit` and the texts for `includes/checkpoint.lua`, with the changes to the log. */
export interface CheckpointCall {
  readonly params: Params;
  readonly texts: readonly StoredText[];
  /** Bytes of these texts before some were compressed. */
  readonly bytes: number;
  /** Bytes of what the call stores: the checkpoint, its event aside, and the new messages and values. */
  readonly stateBytes: number;
  readonly plan: LogPlan;
  /** Bytes of each field that holds the new state. */
  readonly sizes: ReadonlyMap<string, number>;
  /** The counters of the log after the write. */
  readonly counters: LogCounters;
}

/** @param compact whether messages may be compressed (`StoreOptions.compact`) */
export async function checkpointCall(
  draft: CheckpointDraft,
  sweep: Sweep | null,
  { compact }: Pick<StoreSettings, 'compact'>,
): Promise<CheckpointCall> {
  const { counters } = logOf(draft.head);
  const plan = planLog(draft.from, draft.state, counters);
  const added = textsOf(draft.state, plan);
  const addedBytes = added.map((text) => Buffer.byteLength(text));
  const sizes = sizesOf(draft, plan, addedBytes);
  const bytes = sum([...sizes.values()]);
  const [checkpoint, event] = headTexts(draft, plan, { bytes, compact });
  const checkpointBytes = Buffer.byteLength(checkpoint);
  const stored = compact ? await compressEntries(added, plan) : added;
  const after = {
    nextEntry: counters.nextEntry + plan.messages.length,
    nextValue: counters.nextValue + plan.values.length,
    fields: counters.fields + added.length - (sweep?.free.length ?? 0),
    swept: sweep?.left ?? counters.swept,
  };
  return {
    plan,
    sizes,
    counters: after,
    params: commitParams(draft, plan, sweep, { bytes, fields: after.fields, compact }),
    bytes: checkpointBytes + Buffer.byteLength(event) + sum(addedBytes),
    stateBytes:
      checkpointBytes +
      stored.reduce((total, text, at) => total + (typeof text === 'string' ? (addedBytes[at] ?? 0) : text.length), 0),
    texts: [checkpoint, event, ...stored],
  };
}

/** The new entries of the log in the order of the script: messages, then values. */
const textsOf = (state: ThreadState, { messages, values }: LogPlan): string[] => [
  ...messages.map((message) => JSON.stringify(message)),
  ...values.map((name) => textOfChannel(state, name)),
];

/** The checkpoint and its event, which the script completes. */
function headTexts(
  draft: CheckpointDraft,
  { ranges, channels }: LogPlan,
  { bytes, compact }: { readonly bytes: number; readonly compact: boolean },
): readonly [checkpoint: string, event: string] {
  const { metadata, next, error } = draft;
  const parent = draft.from.checkpointId;
  return [
    checkpointText({ parent, ranges, channels, bytes, metadata, next, error }, compact),
    JSON.stringify({ kind: 'checkpoint', parent_id: parent, metadata, next, interrupts: interruptsOf(draft) }),
  ];
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

const contextText = memoize((context: ThreadContext) => JSON.stringify(context));

/** Many threads share one object as their context. */
const textOfChannel = (state: ThreadState, name: ChannelName): string =>
  name === 'thread_context' && state.thread_context !== undefined
    ? contextText(state.thread_context)
    : JSON.stringify(state[name]);

/** Counters of middlewares are written with each step that calls tools, and mostly repeat what they had. */
const MIN_COUNTER_BYTES = 150;

/** The stored forms of the new entries. Of the channels those are compressed that the thread record has no copy of. */
async function compressEntries(added: readonly string[], plan: LogPlan): Promise<readonly StoredText[]> {
  const first = plan.messages.length;
  const stored = await compressTexts(added.slice(0, first));
  for (const [index, name] of plan.values.entries()) {
    const text = added[first + index] ?? '';
    if (name === 'thread_context') stored.push(...(await compressShared([text])));
    else if (name === 'guards') stored.push(...(await compressTexts([text], MIN_COUNTER_BYTES)));
    else stored.push(text);
  }
  return stored;
}

function commitParams(
  draft: CheckpointDraft,
  plan: LogPlan,
  sweep: Sweep | null,
  size: { readonly bytes: number; readonly fields: number; readonly compact: boolean },
): Params {
  const { counters } = logOf(draft.head);
  const isFork = draft.from !== draft.head;
  return {
    expected: draft.head.checkpointId ?? '',
    next_entry: String(counters.nextEntry),
    next_value: String(counters.nextValue),
    messages: plan.messages.length,
    shown: plan.messages.flatMap((message, index) => (isShownToUsers(message) ? [[index, asUtf8(message.id)]] : [])),
    values: plan.values,
    cleared: findClearedChannels(draft.head.state, draft.state),
    channels: isFork ? plan.channels : undefined,
    parent: isFork ? (draft.from.checkpointId ?? '') : undefined,
    free: sweep?.free,
    swept: sweep?.left,
    bytes: size.bytes,
    fields: size.fields,
    compact: size.compact,
  };
}

/**
 * Bytes of each field that holds the new state: those of the checkpoint it is based on, and the new ones.
 *
 * @param added bytes of the new messages and values
 */
function sizesOf(draft: CheckpointDraft, plan: LogPlan, added: readonly number[]): ReadonlyMap<string, number> {
  const { nextEntry, nextValue } = logOf(draft.head).counters;
  const known = logOf(draft.from).sizes;
  const sizes = new Map<string, number>();
  const add = (field: string, fresh: number | undefined): void => {
    sizes.set(field, fresh ?? known.get(field) ?? 0);
  };
  for (const entry of plan.entries) add(String(entry), added[entry - nextEntry]);
  for (const value of Object.values(plan.channels))
    add(`c${value}`, value < nextValue ? undefined : added[plan.messages.length + value - nextValue]);
  return sizes;
}

const SURROGATE = /[\ud800-\udfff]/;

/** The text as Redis stores it: a lone surrogate, which its JSON parser refuses, is replaced as it would be in a key. */
const asUtf8 = (text: string): string => (SURROGATE.test(text) ? Buffer.from(text).toString() : text);

const findClearedChannels = (before: ThreadState, after: ThreadState): ChannelName[] =>
  CHANNEL_NAMES.filter((name) => before[name] !== undefined && after[name] === undefined);

/** What the script generated for a draft. */
export interface Minted {
  readonly checkpointId: string;
  readonly createdAt: string;
}

/** The head after the write. */
export function toWrittenHead(draft: CheckpointDraft, call: CheckpointCall, minted: Minted): ThreadHead {
  const log = new HeadLog(call.plan.entries, call.plan.channels, call.counters, call.sizes);
  return { checkpointId: minted.checkpointId, metadata: draft.metadata, next: draft.next, state: draft.state, log };
}

/** The `checkpoint` event as the script wrote it. */
export function checkpointEvent(draft: CheckpointDraft, minted: Minted): RunEventOf<'checkpoint'> {
  const interrupts = interruptsOf(draft);
  const event: RunEventOf<'checkpoint'> = {
    kind: 'checkpoint',
    checkpoint_id: minted.checkpointId,
    parent_id: draft.from.checkpointId,
    metadata: draft.metadata,
    next: [...draft.next],
    created_at: minted.createdAt,
  };
  return interrupts === undefined ? event : { ...event, interrupts };
}

/** What waits for an answer, as the event has it; undefined for nothing. */
function interruptsOf({ state }: CheckpointDraft): ClientInterrupt[] | undefined {
  const interrupts = clientInterruptsOf(state);
  return interrupts.length === 0 ? undefined : interrupts;
}

/** Converts a run's commit into a draft. */
export const draftOf = (request: CommitRequest, runId: string): CheckpointDraft => ({
  head: request.head,
  from: request.forkedFrom ?? request.head,
  state: request.state,
  next: request.next,
  metadata: { source: request.source, step: request.step, run_id: runId },
  error: request.error,
});

/** Parameters of `includes/run-commit.lua` in addition to `commit`. */
export function progressParams(request: CommitRequest, entries: readonly LogEntry[], ledger?: LedgerSettings): Params {
  const check = request.next.includes('model_request') && ledger !== undefined ? budgetCheck(ledger) : undefined;
  return {
    events: entryCounts(entries),
    input_committed: request.inputCommitted ?? false,
    joined: request.joined,
    goal_change: request.goalChange,
    usage: request.usage === undefined ? undefined : usageParams(request.usage, ledger),
    // Others may have used a budget up since the run's last call, while it waited or executed tools.
    budgets: check?.budgets,
    usage_prefix: check?.usage_prefix,
  };
}

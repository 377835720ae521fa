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
  omitUndefined,
} from '@caribou/contracts';
import { memoize } from '@caribou/core';
import type { CommitRequest, ThreadHead } from '../ports/run-store.js';
import { checkpointText } from './checkpoint-text.js';
import { fieldsOf, HeadLog, type LogCounters, logOf, type LogPlan, planLog } from './head-log.js';
import type { Sweep } from './log-sweep.js';
import { entryCounts, type LogEntry } from '../events/log-entries.js';
import { compressShared, compressTexts, type StoredText } from '../redis/stored-text.js';
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
  readonly error?: CommitRequest['error'];
}

/** The parameter `p.commit` and the texts for `includes/checkpoint.lua`, with the changes to the log. */
export interface CheckpointCall {
  readonly params: Readonly<Record<string, unknown>>;
  readonly texts: readonly StoredText[];
  /** Bytes of these texts before some were compressed. */
  readonly bytes: number;
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
  const parent = draft.from.checkpointId;
  const messages = plan.messages.map((message) => JSON.stringify(message));
  const values = plan.values.map((name) => textOfChannel(draft.state, name));
  const sizes = sizesOf(draft, plan, { messages, values });
  const body = {
    parent,
    ranges: plan.ranges,
    channels: plan.channels,
    bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    metadata: draft.metadata,
    next: draft.next,
    ...omitUndefined({ error: draft.error }),
  };
  const head = [
    checkpointText(body, compact),
    JSON.stringify({
      kind: 'checkpoint',
      parent_id: parent,
      metadata: draft.metadata,
      next: draft.next,
      ...interruptsOf(draft),
    }),
  ];
  const after = {
    nextEntry: counters.nextEntry + messages.length,
    nextValue: counters.nextValue + values.length,
    fields: counters.fields + messages.length + values.length - (sweep?.free.length ?? 0),
    swept: sweep?.left ?? counters.swept,
  };
  return {
    plan,
    sizes,
    counters: after,
    params: { ...commitParams(draft, plan, sweep), bytes: body.bytes, fields: after.fields, compact },
    bytes: [...head, ...messages, ...values].reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    texts: [...head, ...(compact ? await compressEntries({ messages, values }, plan) : [...messages, ...values])],
  };
}

const contextText = memoize((context: ThreadContext) => JSON.stringify(context));

/** Many threads share one object as their context. */
const textOfChannel = (state: ThreadState, name: ChannelName): string =>
  name === 'thread_context' && state.thread_context !== undefined
    ? contextText(state.thread_context)
    : JSON.stringify(state[name]);

/** Counters of middlewares are written with each step that calls tools, and mostly repeat what they had. */
const MIN_COUNTER_BYTES = 150;

/** The new entries of the log in the order of the script. Of the channels those are compressed that the thread record has no copy of. */
async function compressEntries(
  added: { readonly messages: readonly string[]; readonly values: readonly string[] },
  plan: LogPlan,
): Promise<readonly StoredText[]> {
  const stored = await compressTexts(added.messages);
  for (const [index, text] of added.values.entries()) stored.push(await compressValue(plan.values[index], text));
  return stored;
}

async function compressValue(name: ChannelName | undefined, text: string): Promise<StoredText> {
  const compressed =
    name === 'thread_context'
      ? await compressShared([text])
      : name === 'guards'
        ? await compressTexts([text], MIN_COUNTER_BYTES)
        : [text];
  return compressed[0] ?? text;
}

function commitParams(draft: CheckpointDraft, plan: LogPlan, sweep: Sweep | null): CheckpointCall['params'] {
  const { counters } = logOf(draft.head);
  return {
    expected: draft.head.checkpointId ?? '',
    next_entry: String(counters.nextEntry),
    next_value: String(counters.nextValue),
    messages: plan.messages.length,
    shown: plan.messages.flatMap((message, index) => (isShownToUsers(message) ? [[index, asUtf8(message.id)]] : [])),
    values: plan.values,
    cleared: findClearedChannels(draft.head.state, draft.state),
    ...(draft.from === draft.head ? {} : { channels: plan.channels, parent: draft.from.checkpointId ?? '' }),
    ...(sweep === null ? {} : { free: sweep.free, swept: sweep.left }),
  };
}

/** Bytes of what the call stores: the checkpoint, its event aside, and the new messages and values. */
export const stateBytesOf = ({ texts: [checkpoint = '', _event, ...added] }: CheckpointCall): number =>
  [checkpoint, ...added].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** Bytes of each field that holds the new state: those of the checkpoint it is based on, and the new ones. */
function sizesOf(
  draft: CheckpointDraft,
  plan: LogPlan,
  added: { readonly messages: readonly string[]; readonly values: readonly string[] },
): ReadonlyMap<string, number> {
  const { nextEntry, nextValue } = logOf(draft.head).counters;
  const known = logOf(draft.from).sizes;
  const fresh = new Map([
    ...added.messages.map((text, index) => [String(nextEntry + index), Buffer.byteLength(text)] as const),
    ...added.values.map((text, index) => [`c${nextValue + index}`, Buffer.byteLength(text)] as const),
  ]);
  return new Map(fieldsOf(plan).map((field) => [field, fresh.get(field) ?? known.get(field) ?? 0]));
}

/** The text as Redis stores it: a lone surrogate, which its JSON parser refuses, is replaced as it would be in a key. */
const asUtf8 = (text: string): string => Buffer.from(text).toString();

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
export const checkpointEvent = (draft: CheckpointDraft, minted: Minted): RunEventOf<'checkpoint'> => ({
  kind: 'checkpoint',
  checkpoint_id: minted.checkpointId,
  parent_id: draft.from.checkpointId,
  metadata: draft.metadata,
  next: [...draft.next],
  created_at: minted.createdAt,
  ...interruptsOf(draft),
});

/** What waits for an answer, as the event has it. */
function interruptsOf({ state }: CheckpointDraft): { readonly interrupts?: ClientInterrupt[] } {
  const interrupts = clientInterruptsOf(state);
  return interrupts.length === 0 ? {} : { interrupts };
}

/** Converts a run's commit into a draft. */
export const draftOf = (request: CommitRequest, runId: string): CheckpointDraft => ({
  head: request.head,
  from: request.forkedFrom ?? request.head,
  state: request.state,
  next: request.next,
  metadata: { source: request.source, step: request.step, run_id: runId },
  ...omitUndefined({ error: request.error }),
});

/** Parameters of `includes/run-commit.lua` in addition to `commit`. */
export function progressParams(
  request: CommitRequest,
  entries: readonly LogEntry[],
  ledger?: LedgerSettings,
): Readonly<Record<string, unknown>> {
  return {
    events: entryCounts(entries),
    input_committed: request.inputCommitted ?? false,
    joined: request.joined,
    goal_change: request.goalChange,
    usage: request.usage === undefined ? undefined : usageParams(request.usage, ledger),
    // Others may have used a budget up since the run's last call, while it waited or executed tools.
    ...(request.next.includes('model_request') && ledger !== undefined ? budgetCheck(ledger) : {}),
  };
}

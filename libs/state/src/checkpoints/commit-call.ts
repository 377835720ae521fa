import {
  CHANNEL_NAMES,
  isShownToUsers,
  type ChannelName,
  type CheckpointMetadata,
  type RunEventOf,
  type ThreadState,
  omitUndefined,
} from '@caribou/contracts';
import type { CommitRequest, ThreadHead } from '../ports/run-store.js';
import { HeadLog, logOf, type LogPlan, planLog } from './head-log.js';
import type { Sweep } from './log-sweep.js';
import { entryCounts, type LogEntry } from '../events/log-entries.js';
import { usageParams } from '../threads/usage-call.js';

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
  readonly texts: readonly string[];
  readonly plan: LogPlan;
  /** Unshown fields after the last sweep, for the next head. */
  readonly swept: number;
}

export function checkpointCall(draft: CheckpointDraft, sweep: Sweep | null): CheckpointCall {
  const { counters } = logOf(draft.head);
  const plan = planLog(draft.from, draft.state, counters);
  const forks = draft.from !== draft.head;
  const parent = draft.from.checkpointId;
  const body = {
    parent,
    ranges: plan.ranges,
    channels: plan.channels,
    metadata: draft.metadata,
    next: draft.next,
    ...omitUndefined({ error: draft.error }),
  };
  return {
    plan,
    swept: sweep?.left ?? counters.swept,
    params: {
      expected: draft.head.checkpointId ?? '',
      next_entry: String(counters.nextEntry),
      next_value: String(counters.nextValue),
      messages: plan.messages.length,
      shown: plan.messages.flatMap((message, index) => (isShownToUsers(message) ? [[index, asUtf8(message.id)]] : [])),
      values: plan.values,
      cleared: findClearedChannels(draft.head.state, draft.state),
      ...(forks ? { channels: plan.channels } : {}),
      ...(sweep === null ? {} : { free: sweep.free, swept: sweep.left }),
    },
    texts: [
      JSON.stringify(body),
      JSON.stringify({ kind: 'checkpoint', parent_id: parent, metadata: draft.metadata, next: draft.next }),
      ...plan.messages.map((message) => JSON.stringify(message)),
      ...plan.values.map((name) => JSON.stringify(draft.state[name])),
    ],
  };
}

/** The text as Redis stores it: a lone surrogate, which its JSON parser refuses, is replaced as it would be in a key. */
const asUtf8 = (text: string): string => Buffer.from(text).toString();

const findClearedChannels = (before: ThreadState, after: ThreadState): ChannelName[] =>
  CHANNEL_NAMES.filter((name) => before[name] !== undefined && after[name] === undefined);

/** What the script generated for a draft. */
export interface Minted {
  readonly checkpointId: string;
  readonly createdAt: string;
  /** Fields of the log after the write. */
  readonly fields: number;
}

/** The head after the write. */
export function toWrittenHead(draft: CheckpointDraft, call: CheckpointCall, minted: Minted): ThreadHead {
  const { counters } = logOf(draft.head);
  const log = new HeadLog(call.plan.entries, call.plan.channels, {
    nextEntry: counters.nextEntry + call.plan.messages.length,
    nextValue: counters.nextValue + call.plan.values.length,
    fields: minted.fields,
    swept: call.swept,
  });
  return { checkpointId: minted.checkpointId, metadata: draft.metadata, next: draft.next, state: draft.state, log };
}

/** The `checkpoint` event as the script wrote it. */
export const checkpointEvent = (
  draft: CheckpointDraft,
  minted: Pick<Minted, 'checkpointId' | 'createdAt'>,
): RunEventOf<'checkpoint'> => ({
  kind: 'checkpoint',
  checkpoint_id: minted.checkpointId,
  parent_id: draft.from.checkpointId,
  metadata: draft.metadata,
  next: [...draft.next],
  created_at: minted.createdAt,
});

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
): Readonly<Record<string, unknown>> {
  return {
    events: entryCounts(entries),
    input_committed: request.inputCommitted ?? false,
    usage: request.usage === undefined ? undefined : usageParams(request.usage),
  };
}

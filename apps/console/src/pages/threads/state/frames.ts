import type { ConversationState, FollowedRun } from './conversation-state.js';
import { withCustom } from './custom-events.js';
import { type Answer, type Item, itemOf } from './items.js';
import { isRecord, numberOf, stringOf } from './json.js';
import { withChunk } from './message-chunks.js';
import { isAfter } from './position.js';
import { withChannels } from './values.js';

/** One event of a run's stream. */
export interface Frame {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

/** Begins to show a run. Events of it that were shown before are shown again, unless `from` says where to resume. */
export function withRun(
  state: ConversationState,
  runId: string,
  { from, hasGap = false }: { readonly from?: string | undefined; readonly hasGap?: boolean } = {},
): ConversationState {
  const run: FollowedRun = { runId, attempt: 1, lastEventId: from, hasGap, notice: undefined };
  return {
    ...state,
    run,
    live: [],
    outputs: new Map(),
    failure: undefined,
    values: { ...state.values, interrupts: [] },
  };
}

/**
 * Applies events of the followed run, in order. An event that was applied before changes nothing, so that each text is shown once
 * however often the stream was resumed.
 */
export function withFrames(state: ConversationState, frames: readonly Frame[]): ConversationState {
  let next = state;
  for (const frame of frames) {
    const { run } = next;
    if (run === undefined) return next;
    if (!isAfter(frame.id, run.lastEventId)) continue;
    const applied = applyFrame(next, frame);
    const { run: after } = applied;
    next =
      after === undefined || frame.id === undefined
        ? applied
        : { ...applied, run: { ...after, lastEventId: frame.id } };
  }
  return next;
}

function applyFrame(state: ConversationState, { event, data }: Frame): ConversationState {
  switch (event) {
    case 'metadata':
      return withAttempt(state, data);
    case 'messages':
      return Array.isArray(data) ? withMessage(state, data[0], data[1]) : state;
    case 'updates':
      return withUpdates(state, data);
    case 'custom':
      return withCustom(state, data);
    case 'error':
      return isRecord(data)
        ? {
            ...state,
            failure: { name: stringOf(data['name']) ?? '', message: stringOf(data['message']) ?? '' },
          }
        : state;
    default:
      return state;
  }
}

/** A further attempt says which messages were partly streamed and discarded. */
function withAttempt(state: ConversationState, data: unknown): ConversationState {
  const { run } = state;
  if (!isRecord(data) || run === undefined) return state;
  const attempt = numberOf(data['attempt']) ?? run.attempt;
  const dropped = new Set<unknown>(Array.isArray(data['dropped_message_ids']) ? data['dropped_message_ids'] : []);
  return {
    ...state,
    run: { ...run, attempt },
    live: dropped.size === 0 ? state.live : state.live.filter(({ id }) => !dropped.has(id)),
  };
}

/** A delta of an answer, or a whole result of a tool. */
function withMessage(state: ConversationState, message: unknown, about: unknown): ConversationState {
  if (!isRecord(message) || state.run === undefined) return state;
  if (message['type'] === 'tool') return withItem(state, itemOf(message, { runId: state.run.runId }));
  const id = stringOf(message['id']);
  // What is in the feed is complete: its deltas come again when the stream is read from the start.
  if (id === undefined || state.stored.some((item) => item.id === id)) return state;
  const model = isRecord(about) ? stringOf(about['ls_model_name']) : undefined;
  const known = state.live.find((item) => item.id === id);
  if (known !== undefined && (known.kind !== 'answer' || known.state !== 'streaming')) return state;
  const answer = withChunk(known ?? newAnswer(id, state.run, model), message);
  const quiet = state.run.notice === undefined ? state : { ...state, run: { ...state.run, notice: undefined } };
  return { ...quiet, live: replaced(state.live, answer) };
}

function newAnswer(id: string, run: FollowedRun, model: string | undefined): Answer {
  return {
    kind: 'answer',
    id,
    seq: undefined,
    runId: run.runId,
    createdAt: undefined,
    text: '',
    reasoning: '',
    calls: [],
    state: 'streaming',
    lacksBeginning: run.hasGap,
    model,
    usage: undefined,
    durationSeconds: undefined,
    rating: undefined,
    isFailure: false,
  };
}

/** What a node changed. Removed messages stay visible: a summary replaces them for the model only. */
function withUpdates(state: ConversationState, data: unknown): ConversationState {
  if (!isRecord(data)) return state;
  let next = state;
  for (const [node, update] of Object.entries(data)) {
    if (node === '__interrupt__') next = withChannels(next, { interrupts: update });
    else if (isRecord(update)) {
      next = withChannels(next, update);
      const messages = Array.isArray(update['messages']) ? update['messages'] : [];
      for (const message of messages) next = withItem(next, itemOf(message, { runId: next.run?.runId }));
    }
  }
  return next;
}

/** A whole message: it replaces what streamed of it, and is no longer pending. */
function withItem(state: ConversationState, item: Item | undefined): ConversationState {
  if (item === undefined || state.stored.some(({ id }) => id === item.id)) return state;
  const outputs = new Map(state.outputs);
  if (item.kind === 'result') outputs.delete(item.callId);
  return {
    ...state,
    live: replaced(state.live, item),
    outputs: outputs.size === state.outputs.size ? state.outputs : outputs,
    pending: item.kind === 'said' ? state.pending.filter(({ id }) => id !== item.id) : state.pending,
    run:
      state.run === undefined ? undefined : { ...state.run, hasGap: item.kind === 'answer' ? false : state.run.hasGap },
  };
}

function replaced(items: readonly Item[], item: Item): readonly Item[] {
  const index = items.findIndex(({ id }) => id === item.id);
  return index === -1 ? [...items, item] : items.with(index, item);
}

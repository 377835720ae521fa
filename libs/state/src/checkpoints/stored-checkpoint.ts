import { setImmediate } from 'node:timers/promises';
import {
  BugError,
  CHANNEL_NAMES,
  type CheckpointView,
  type Message,
  type ThreadState,
  omitUndefined,
  toClientMessage,
} from '@caribou/contracts';
import type { ThreadHead } from '../ports/run-store.js';
import { parseCheckpoint, type StoredCheckpoint } from './checkpoint-text.js';
import { entriesOf, fieldsOf, HeadLog, type LogCounters, logOf } from './head-log.js';
import { parseStored } from '../redis/stored-json.js';
import { expandTexts, type StoredText } from '../redis/stored-text.js';

/** The reply of `load.lua`: checkpoints and, once each, the entries that they refer to. */
export interface LoadedCheckpoints {
  readonly headId: string | null;
  readonly counters: LogCounters;
  /** The checkpoints in the order of the request; null for an unknown one. */
  readonly checkpoints: readonly (StoredCheckpoint | null)[];
  readonly entries: ReadonlyMap<string, LoadedEntry>;
}

interface LoadedEntry {
  readonly value: unknown;
  /** Bytes of its JSON. */
  readonly bytes: number;
}

/** Characters of stored text parsed in one turn of the event loop. */
const SLICE_CHARS = 256 * 1024;

interface LoadRequest {
  /** The checkpoints that were requested; absent: the head. */
  readonly ids?: readonly string[] | undefined;
  /** What the reader has already; its checkpoint was named to the script. */
  readonly known?: ThreadHead | undefined;
}

/** Yields to the event loop, for the other requests and runs of the process. */
export async function parseLoadReply(reply: unknown, { ids, known }: LoadRequest = {}): Promise<LoadedCheckpoints> {
  const [head, counters, texts, flat] = reply as LoadReply;
  const stored = foundEntries(flat);
  const entries = known === undefined ? new Map<string, LoadedEntry>() : entriesOfHead(known);
  const plain = await expandTexts([...stored.values()]);
  let sinceTurn = 0;
  for (const [index, field] of [...stored.keys()].entries()) {
    const text = plain[index] ?? '';
    entries.set(field, { value: parseStored(text), bytes: Buffer.byteLength(text) });
    sinceTurn += text.length;
    if (sinceTurn < SLICE_CHARS) continue;
    sinceTurn = 0;
    await setImmediate();
  }
  const checkpoints = texts.map((text, index) => (text === null ? null : parseCheckpoint(ids?.[index] ?? head, text)));
  return { headId: head === '' ? null : head, counters: countersOf(counters), checkpoints, entries };
}

type LoadReply = [string, (string | number)[], (string | null)[], (StoredText | null)[]];

/** What a head has, by the fields of the log. */
function entriesOfHead(head: ThreadHead): Map<string, LoadedEntry> {
  const { entries, channels, sizes } = logOf(head);
  const loaded = new Map<string, LoadedEntry>();
  const add = (field: string, value: unknown): void => {
    loaded.set(field, { value, bytes: sizes.get(field) ?? 0 });
  };
  for (const [index, entry] of entries.entries()) add(String(entry), head.state.messages[index]);
  for (const name of CHANNEL_NAMES) {
    const entry = channels[name];
    if (entry !== undefined) add(`c${entry}`, head.state[name]);
  }
  return loaded;
}

/** The entries of the reply, without those that the log lacks, by their fields. */
function foundEntries(flat: LoadReply[3]): ReadonlyMap<string, StoredText> {
  const found = new Map<string, StoredText>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const text = flat[index + 1];
    if (text !== null && text !== undefined) found.set(String(flat[index]), text);
  }
  return found;
}

function countersOf(counters: readonly (string | number)[]): LogCounters {
  const [nextEntry, nextValue, fields, swept] = counters.map(Number);
  return { nextEntry: nextEntry ?? 1, nextValue: nextValue ?? 1, fields: fields ?? 0, swept: swept ?? 0 };
}

/** Builds the state of a checkpoint. @throws {BugError} when the log lacks an entry. */
export function stateOf(loaded: LoadedCheckpoints, checkpoint: StoredCheckpoint): ThreadState {
  const read = (field: string): unknown => {
    const entry = loaded.entries.get(field);
    if (entry !== undefined) return entry.value;
    throw new BugError('a checkpoint refers to an entry that is not in the log', {
      details: { checkpoint: checkpoint.id, field },
    });
  };
  const messages = entriesOf(checkpoint.ranges).map((entry) => read(String(entry)) as Message);
  const channels = Object.entries(checkpoint.channels).map(([name, entry]) => [name, read(`c${entry}`)]);
  return { ...(Object.fromEntries(channels) as Omit<ThreadState, 'messages'>), messages };
}

/** The checkpoint as the head for a writer; null for a thread without checkpoints. */
export function headOf(loaded: LoadedCheckpoints, checkpoint: StoredCheckpoint | null): ThreadHead {
  if (checkpoint === null) return emptyHead(loaded.counters);
  const { channels } = checkpoint;
  const entries = entriesOf(checkpoint.ranges);
  const sizes = fieldsOf({ entries, channels }).map((field) => [field, loaded.entries.get(field)?.bytes ?? 0] as const);
  return {
    checkpointId: checkpoint.id,
    metadata: checkpoint.metadata,
    next: checkpoint.next,
    state: stateOf(loaded, checkpoint),
    log: new HeadLog(entries, channels, loaded.counters, new Map(sizes)),
  };
}

/** The head of a thread without checkpoints; by default of one that was just created. */
export const emptyHead = (counters: LogCounters = { nextEntry: 1, nextValue: 1, fields: 0, swept: 0 }): ThreadHead => ({
  checkpointId: null,
  metadata: null,
  next: [],
  state: { messages: [] },
  log: new HeadLog([], {}, counters, new Map()),
});

/** The checkpoint for readers outside of the loop, without what is hidden from clients. */
export function viewOf(loaded: LoadedCheckpoints, checkpoint: StoredCheckpoint): CheckpointView {
  return {
    checkpointId: checkpoint.id,
    parentId: checkpoint.parent,
    createdAt: checkpoint.created_at,
    metadata: checkpoint.metadata,
    next: checkpoint.next,
    ...omitUndefined({ error: checkpoint.error }),
    state: toShownState(stateOf(loaded, checkpoint)),
  };
}

/** The state without what is hidden from clients. A message gives the same object each time. */
export const toShownState = (state: ThreadState): ThreadState => ({ ...state, messages: state.messages.map(toShown) });

const shownMessages = new WeakMap<Message, Message>();

function toShown(message: Message): Message {
  if (message.type !== 'ai' || message.provider_extras === undefined) return message;
  const shown = shownMessages.get(message) ?? toClientMessage(message);
  shownMessages.set(message, shown);
  return shown;
}

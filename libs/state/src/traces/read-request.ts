import { type Message, NotFoundError } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { MissingReason, RequestMessage, StoredRequest, StoredTool, TracedRun } from './traces-port.js';
import type { RedisConnection } from '../redis/connection.js';
import { readCheckpoints, requireCheckpoint } from '../checkpoints/checkpoint-reads.js';
import { headOf } from '../checkpoints/stored-checkpoint.js';
import type { TraceTextKeys } from '../redis/script-keys.js';
import { parseStored } from '../redis/stored-json.js';
import { expandText, toStoredText } from '../redis/stored-text.js';
import { type FoundEntry } from './step-entries.js';
import type { EditText, RequestText } from './step-text.js';
import { entriesOf } from './trace-entries.js';
import { ENTRIES_PER_PART, indexOf, MARK_AT, parsePart, removedBy } from './trace-parts.js';

interface Parts {
  /** The part of the store that has the run. */
  readonly redis: RedisConnection;
  /** The part of the store that has the texts of users. */
  readonly texts: RedisConnection;
}

interface Asked {
  readonly call: number;
  readonly offset: number;
  readonly limit: number;
}

/** A page of messages ends when it has so many characters. */
const MAX_PAGE_CHARS = 4 * 1024 * 1024;
/** How many parts before a step are read to find its checkpoint; between two steps there are claims only. */
const MAX_BETWEEN = 200;

export async function readRequest(parts: Parts, run: TracedRun, asked: Asked): Promise<StoredRequest | null> {
  const found = await findCall(parts.redis, run, asked.call);
  if (found === null) return null;
  const { entry, request, before, after } = found;
  const wanted = pageOf(request, asked);
  const names = wanted.flatMap((part) => ('hash' in part ? [part.hash] : []));
  const [shared, ofThread] = await Promise.all([
    readTexts(parts.texts, parts.texts.keys.traceTexts(run.userId), [request.s, request.t, ...names]),
    readTexts(parts.redis, parts.redis.keys.threadTraceTexts(run), names),
  ]);
  // A context is a text of the user, or of the thread where an earlier version wrote it.
  const texts = new Map([...shared, ...ofThread]);
  const reads = (isBefore: boolean): boolean => wanted.some((part) => 'at' in part && part.isBefore === isBefore);
  const [ofBefore, ofAfter] = await Promise.all([
    reads(true) ? messagesAt(parts.redis, run, before) : null,
    reads(false) ? messagesAt(parts.redis, run, after) : null,
  ]);
  const system = textIn(shared, request.s);
  const tools = textIn(shared, request.t);
  return {
    at: entry.at,
    model: entry.model,
    providerModel: entry.provider_model,
    checkpointId: before ?? null,
    parameters: request.p ?? {},
    system,
    tools: typeof tools === 'string' ? parseStored<StoredTool[]>(tools) : tools,
    messages: bounded(wanted.map((part) => messageOf(part, texts, { before: ofBefore, after: ofAfter }))),
    totalMessages: request.l.reduce((sum, part) => sum + lengthOf(part), 0),
  };
}

type CallEntry = Extract<FoundEntry['entry'], { readonly type: 'model_call' }>;

interface FoundCall {
  readonly entry: CallEntry;
  readonly request: RequestText;
  /** The checkpoint before the step; undefined when it is not known any more. */
  readonly before: string | undefined;
  /** The one that the step ends with; undefined for none. */
  readonly after: string | undefined;
}

async function findCall(redis: RedisConnection, run: TracedRun, call: number): Promise<FoundCall | null> {
  const key = redis.keys.runTrace(run.userId, run.runId);
  const removed = removedBy(await redis.use((client) => client.lindexBuffer(key, MARK_AT)));
  const index = indexOf(Math.floor((call - 1) / ENTRIES_PER_PART), removed);
  const stored = await redis.use((client) => client.lindexBuffer(key, index));
  if (stored === null) return null;
  const part = await parsePart(stored);
  const entries = entriesOf(part, {
    admittedMs: undefined,
    next: undefined,
    owner: undefined,
    run: null,
  });
  const { entry, request } = entries[(call - 1) % ENTRIES_PER_PART] ?? {};
  if (entry?.type !== 'model_call' || request === undefined) return null;
  const [checkpoint] = part.values;
  const after = checkpoint === '-' ? undefined : checkpoint;
  return { entry, request, before: await checkpointBefore(redis, run, index), after };
}

/** The checkpoint that the step at `index` began with: that of the step before it, or the one that the run began with. */
async function checkpointBefore(redis: RedisConnection, run: TracedRun, index: number): Promise<string | undefined> {
  const first = Math.max(0, index - MAX_BETWEEN);
  const key = redis.keys.runTrace(run.userId, run.runId);
  const before = index === 0 ? [] : await redis.use((client) => client.lrangeBuffer(key, first, index - 1));
  for (const stored of before.toReversed()) {
    const line = stored.subarray(0, 100).toString('latin1');
    if (line.startsWith('s ')) return line.split(/[ \n]/)[2];
    if (line.startsWith('n ')) return undefined;
  }
  return first === 0 ? (run.record?.base_checkpoint_id ?? undefined) : undefined;
}

type MessagePart =
  | { readonly index: number; readonly hash: string }
  | { readonly index: number; readonly at: number; readonly isBefore: boolean; readonly edits?: EditText['e'] }
  | { readonly index: number; readonly missing: MissingReason };

const lengthOf = (part: RequestText['l'][number]): number =>
  typeof part === 'string' || 'f' in part ? 1 : part.length === 1 ? part[0] : part[1];

/** The messages of a page. */
function pageOf({ l: parts }: RequestText, { offset, limit }: Asked): readonly MessagePart[] {
  const page: MessagePart[] = [];
  let index = 0;
  for (const part of parts) {
    const length = lengthOf(part);
    const from = Math.max(offset, index);
    const to = Math.min(offset + limit, index + length);
    for (let at = from; at < to; at += 1) page.push(messagePart(part, at, at - index));
    index += length;
    if (index >= offset + limit) break;
  }
  return page;
}

function messagePart(part: RequestText['l'][number], index: number, within: number): MessagePart {
  if (typeof part === 'string') return { index, hash: part };
  if ('f' in part) return { index, at: part.f, isBefore: part.b === 1, edits: part.e };
  if (part.length === 1) return { index, missing: 'too_large' };
  return { index, at: part[0] + within, isBefore: part.length === 3 };
}

/** The texts of these hashes that are stored. */
async function readTexts(
  redis: RedisConnection,
  { texts: key }: TraceTextKeys,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(hashes)];
  const stored = wanted.length === 0 ? [] : await redis.use((client) => client.hmgetBuffer(key, ...wanted));
  const texts = new Map<string, string>();
  for (const [index, hash] of wanted.entries()) {
    const form = stored[index];
    if (form !== null && form !== undefined) texts.set(hash, await expandText(toStoredText(form)));
  }
  return texts;
}

type Missing = { readonly missing: MissingReason };

const textIn = (texts: ReadonlyMap<string, string>, hash: string): string | Missing =>
  texts.get(hash) ?? { missing: hash.startsWith('large-') ? 'too_large' : 'expired' };

/** The messages of a checkpoint; null when it is not stored any more. */
async function messagesAt(
  redis: RedisConnection,
  thread: ThreadKey,
  checkpointId: string | undefined,
): Promise<readonly Message[] | null> {
  if (checkpointId === undefined) return null;
  try {
    const loaded = await readCheckpoints(redis, thread, { ids: [checkpointId], ended: true });
    return headOf(loaded, requireCheckpoint(loaded.checkpoints[0], checkpointId)).state.messages;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

function messageOf(
  part: MessagePart,
  texts: ReadonlyMap<string, string>,
  { before, after }: { readonly before: readonly Message[] | null; readonly after: readonly Message[] | null },
): RequestMessage {
  const { index } = part;
  if ('missing' in part) return { index, from: 'chain', message: part.missing };
  if ('at' in part) {
    const message = (part.isBefore ? before : after)?.[part.at];
    if (message === undefined)
      return { index, from: part.edits === undefined ? 'state' : 'chain', message: 'checkpoint_gone' };
    if (part.edits === undefined) return { index, from: 'state', message };
    return { index, from: 'chain', message: parseStored<Message>(applyEdits(JSON.stringify(message), part.edits)) };
  }
  const text = textIn(texts, part.hash);
  return { index, from: 'chain', message: typeof text === 'string' ? parseStored<Message>(text) : text.missing };
}

/** A text with edits, which are in order and count in the original. */
function applyEdits(text: string, edits: EditText['e']): string {
  return edits.reduceRight(
    (left, [at, removed, inserted]) => left.slice(0, at) + inserted + left.slice(at + removed),
    text,
  );
}

/** The first messages, as many as a page may have, at least one. */
function bounded(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  let chars = 0;
  const end = messages.findIndex((message, index) => {
    chars += JSON.stringify(message).length;
    return index > 0 && chars > MAX_PAGE_CHARS;
  });
  return end === -1 ? messages : messages.slice(0, end);
}

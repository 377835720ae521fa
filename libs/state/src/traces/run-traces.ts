import { BugError, type TraceEntry } from '@caribou/contracts';
import type { RunTraces, TracedRun, TracePage } from './traces-port.js';
import type { RedisConnection } from '../redis/connection.js';
import { readRequest } from './read-request.js';
import { entriesOf } from './trace-entries.js';
import {
  ENTRIES_PER_PART,
  indexOf,
  MARK_AT,
  numberAt,
  parsePart,
  removedBy,
  stepOf,
  type TracePart,
} from './trace-parts.js';

/** Parts that are read at once. */
const PARTS_PER_READ = 200;

/**
 * The traces of runs in a part of the store.
 *
 * @param texts the part that has the texts of users' requests
 */
export const redisRunTraces = (redis: RedisConnection, texts: RedisConnection = redis): RunTraces => ({
  read: (run, page) => readTrace(redis, run, page),
  request: (run, call, page) => readRequest({ redis, texts }, run, { call, ...page }),
});

async function readTrace(
  redis: RedisConnection,
  run: TracedRun,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<TracePage> {
  const key = redis.keys.runTrace(run.userId, run.runId);
  const { admittedMs, removed, ttlMs, unwritten } = await readBeginning(redis, run);
  const entries: TraceEntry[] = [];
  let owner: string | undefined;
  let index = indexOf(Math.max(0, Math.floor((after - 1) / ENTRIES_PER_PART)), removed);
  let isLast = false;
  while (!isLast && entries.length <= limit) {
    const from = index;
    const found = await redis.use((client) => client.lrangeBuffer(key, from, from + PARTS_PER_READ));
    const stored = found.length > 0 ? found : unwritten.slice(from);
    const parts = await Promise.all(stored.map(partOrUnreadable));
    isLast = parts.length <= PARTS_PER_READ;
    const whole = parts.slice(0, PARTS_PER_READ);
    for (const [at, part] of whole.entries()) {
      const number = numberAt(from + at, removed);
      if (part.kind === 'c') owner = part.values[0];
      else if (part.kind === 'e') owner ??= await ownerBefore(redis, key, from + at);
      const context = { admittedMs, next: parts[at + 1], owner, run: run.record };
      entries.push(...numbered(part, number, context).filter(({ seq }) => seq > after));
    }
    index += PARTS_PER_READ;
  }
  const page = entries.slice(0, limit);
  return {
    entries: page,
    next: entries.length > limit ? (page.at(-1)?.seq ?? null) : null,
    retainedUntilMs: ttlMs > 0 ? Date.now() + ttlMs : null,
  };
}

const ADMISSION = ['asked', 'asked_ms', 'api_key', 'multitask_strategy'] as const;

/**
 * When a run was admitted, how many parts of its trace were removed, and the deadline of the trace. `unwritten`: the part of the admission of a run that nothing has
 * happened to since, which is in the run's record (traces/trace.lua). The record is read first, as a claim moves the part to the list.
 */
async function readBeginning(redis: RedisConnection, { userId, runId }: TracedRun) {
  const key = redis.keys.runTrace(userId, runId);
  const record = redis.keys.runPrefix(userId) + runId;
  const [fields, first, mark, ttlMs] = await redis.use((client) =>
    Promise.all([
      client.hmget(record, ...ADMISSION),
      client.lindexBuffer(key, 0),
      client.lindexBuffer(key, MARK_AT),
      client.pttl(key),
    ]),
  );
  const unwritten = first === null ? admissionIn(fields) : [];
  const admitted = first ?? unwritten[0];
  const admittedMs = admitted === undefined ? undefined : (await partOrUnreadable(admitted)).ms;
  return { admittedMs, removed: removedBy(mark), ttlMs, unwritten };
}

function admissionIn([asked, ms, payer, strategy]: readonly (string | null)[]): readonly Buffer[] {
  const [process, request] = asked?.split(' ') ?? [];
  if (process === undefined || request === undefined) return [];
  return [Buffer.from(['a', ms, process, payer || '-', strategy, request].join(' '))];
}

/** The owner of the last claim before a part. */
async function ownerBefore(redis: RedisConnection, key: string, index: number): Promise<string | undefined> {
  for (let end = index - 1; end >= 0; end -= PARTS_PER_READ) {
    const stored = await redis.use((client) => client.lrangeBuffer(key, Math.max(0, end - PARTS_PER_READ + 1), end));
    const claim = stored.findLast((part) => part.subarray(0, 2).equals(CLAIM));
    if (claim !== undefined) return (await parsePart(claim)).values[0];
  }
  return undefined;
}

const CLAIM = Buffer.from('c ');

function numbered(part: TracePart, number: number, context: Parameters<typeof entriesOf>[1]): readonly TraceEntry[] {
  if (part.kind === 'n') {
    const at = new Date(part.ms).toISOString();
    return [{ seq: seqOf(number, 0), at, type: 'note', note: 'steps_dropped', dropped: Number(part.values[0]) }];
  }
  return entriesOf(part, context).map(({ entry, request }, index) => {
    const seq = seqOf(number, index);
    return entry.type === 'model_call' && request !== undefined ? { ...entry, seq, call: seq } : { ...entry, seq };
  });
}

const seqOf = (number: number, index: number): number => number * ENTRIES_PER_PART + index + 1;

/** The part, or a note that there is one which no version of ours wrote: it hides no other part. */
async function partOrUnreadable(stored: Buffer): Promise<TracePart> {
  try {
    const part = await parsePart(stored);
    if (part.kind === 's' || part.kind === 'e') stepOf(part);
    return part;
  } catch (error) {
    if (!(error instanceof BugError)) throw error;
    return { kind: '?', ms: 0, values: [], text: '' };
  }
}

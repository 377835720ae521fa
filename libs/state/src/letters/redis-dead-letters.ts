import { BugError, DeadLetterTopic, NotFoundError } from '@caribou/contracts';
import { z } from 'zod';
import type { AdminLine } from '../ports/admission.js';
import type { DeadLetterStore, LetterQuery, ListedLetter, ReplayOutcome } from './dead-letters.js';
import { BeingErasedError } from '../ports/erasure-store.js';
import { auditLineParams } from '../executions/audit-log.js';
import type { RedisConnection } from '../redis/connection.js';
import { memoryMember } from '../redis/keys.js';
import { foreignType } from '../redis/redis-errors.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';

const scripts = {
  drop: loadScript('letters/drop-letter'),
  memory: loadScript('letters/replay-memory'),
  webhook: loadScript('letters/replay-webhook'),
};

const StoredLetter = z.object({
  kind: DeadLetterTopic,
  user_id: z.string(),
  thread_id: z.string(),
  run_id: z.string().optional(),
  agent: z.string().optional(),
  reason: z.string(),
  detail: z.string(),
  is_lost: z.boolean().default(false),
});

interface Entry {
  readonly id: string;
  readonly atMs: number;
}

export interface DeadLetterOptions {
  /** Time without a message after which a thread is read for memory, in milliseconds. */
  readonly debounceMs: number;
}

/** The dead letters in Redis, of threads and of the part that has tasks. */
export function redisDeadLetters(redis: RedisConnection, { debounceMs }: DeadLetterOptions): DeadLetterStore {
  const tasks = redis.part('tasks');
  const partOf = (id: string): RedisConnection => (kindOf(id) === 'task' ? tasks : redis);

  /** Of both parts, newest first: their numbers are bounded by the scripts that write them. */
  async function entries(): Promise<readonly Entry[]> {
    const found = await Promise.all([redis, tasks].map(entriesOf));
    return found.flat().sort(byAge);
  }

  async function read(entry: Entry): Promise<ListedLetter | null> {
    const { records } = partOf(entry.id).keys.letters;
    const text = await redis.use((client) => client.hget(records, entry.id));
    return text === null ? null : letterOf(entry, text);
  }

  async function remove(id: string, line?: AdminLine): Promise<boolean> {
    const { records, times } = partOf(id).keys.letters;
    const params = { id, ...(line === undefined ? {} : auditLineParams(redis, line)) };
    return (await redis.run(scripts.drop, [records, times], [JSON.stringify(params)])) === 1;
  }

  return {
    list: async (query) => {
      const matching = (await entries()).filter(matches(query));
      const rest = matching.filter(({ id, atMs }) => isBehind({ id, atMs }, query.cursor));
      const page = rest.slice(0, query.limit);
      const letters = (await Promise.all(page.map(read))).filter((letter) => letter !== null);
      const last = page.at(-1);
      const hasMore = rest.length > page.length && last !== undefined;
      return { letters, total: matching.length, nextCursor: hasMore ? cursorOf(last) : null };
    },
    get: async (id) => {
      const { times } = partOf(id).keys.letters;
      const score = await redis.use((client) => client.zscore(times, id));
      const letter = score === null ? null : await read({ id, atMs: Number(score) });
      if (letter === null) throw new NotFoundError('the dead letter does not exist: it was replayed or dropped');
      return letter;
    },
    remove,
    replayMemory: async ({ id, userId, threadId, agent }, line) => {
      if (agent === undefined) throw new BugError('a dead letter of memory names no agent', { details: { id } });
      const { records, times } = redis.keys.letters;
      const thread = { userId, threadId };
      const keys = [...Object.values<string>({ ...redis.keys.memoryJob(thread) }), records, times];
      const params = {
        ...{ id, agent, thread: threadId, member: memoryMember(thread, agent), debounce_ms: debounceMs },
        ...{ record: redis.keys.thread(thread).record, ...auditLineParams(redis, line) },
      };
      const reply = await redis.run(scripts.memory, [...keys, redis.keys.memoryDead(userId)], [JSON.stringify(params)]);
      return outcomeOf(reply);
    },
    replayWebhook: async ({ id, userId, runId }, line) => {
      const { users: prefix, events, hosts } = redis.keys.outboxPrefixes;
      const { all, users } = redis.keys.outbox(userId);
      const { records, times } = redis.keys.letters;
      const params = {
        ...{ prefix, events, hosts, user: userId, event: runId, id, erasing: redis.keys.erasing },
        ...auditLineParams(redis, line),
      };
      return outcomeOf(await redis.run(scripts.webhook, [all, users, records, times], [JSON.stringify(params)]));
    },
    removeAll: async (userId) => {
      for (const { id } of (await entries()).filter(matches({ userId }))) await remove(id);
    },
  };
}

async function entriesOf(redis: RedisConnection): Promise<Entry[]> {
  const flat = await redis.use((client) => client.zrange(redis.keys.letters.times, 0, -1, 'WITHSCORES'));
  return flat.flatMap((id, index) => (index % 2 === 0 ? [{ id, atMs: Number(flat[index + 1]) }] : []));
}

/** Newest first; of one millisecond by id. */
const byAge = (one: Entry, other: Entry): number => other.atMs - one.atMs || (one.id < other.id ? -1 : 1);

const cursorOf = ({ atMs, id }: Entry): string => `${atMs}:${id}`;

function isBehind(entry: Entry, cursor: string | undefined): boolean {
  if (cursor === undefined) return true;
  const border = cursor.indexOf(':');
  return byAge({ atMs: Number(cursor.slice(0, border)), id: cursor.slice(border + 1) }, entry) < 0;
}

/** Ids name kind and user, which have no dots. */
const kindOf = (id: string): string => id.split('.')[0] ?? '';

const matches =
  ({ kind, userId }: Pick<LetterQuery, 'kind' | 'userId'>) =>
  ({ id }: Entry): boolean => {
    const [ofKind, ofUser] = id.split('.');
    return (kind === undefined || kind === ofKind) && (userId === undefined || userId === ofUser);
  };

function letterOf({ id, atMs }: Entry, text: string): ListedLetter {
  const { kind, user_id, thread_id, run_id, agent, reason, detail, is_lost } = StoredLetter.parse(parseStored(text));
  return {
    ...{ id, atMs, kind, reason, detail, userId: user_id, threadId: thread_id, isLost: is_lost },
    ...(run_id === undefined ? {} : { runId: run_id }),
    ...(agent === undefined ? {} : { agent }),
  };
}

function outcomeOf(reply: unknown): ReplayOutcome {
  const [outcome, key] = reply as readonly [ReplayOutcome | 'damaged' | 'erasing', unknown];
  if (outcome === 'damaged') throw foreignType(key);
  if (outcome === 'erasing') throw new BeingErasedError('this user is being erased: try again later');
  return outcome;
}

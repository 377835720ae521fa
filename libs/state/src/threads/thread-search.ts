import type { ThreadRecord } from '@caribou/contracts';
import type { ThreadSearch, ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { containsAll } from './containment.js';
import { bytesOf, MAX_READ_BYTES, readHashes } from '../redis/read-hashes.js';
import { isListed, threadOf } from './thread-codec.js';

/** Records read in one round trip. */
const PAGE = 200;
/** Maximum number of threads of a user that one search reads, newest first; older ones are not found. */
const MAX_SCANNED = 10_000;

/** Maximum number of bytes of records that one search reads. */
const MAX_SCANNED_BYTES = 64 * 1024 * 1024;

type SortKey = Pick<ThreadRecord, ThreadSearch['sortBy']>;

const sortKeyOf = ({ thread_id, status, created_at, updated_at }: ThreadRecord): SortKey => ({
  thread_id,
  status,
  created_at,
  updated_at,
});

interface ReadThreads {
  readonly threads: readonly ThreadRecord[];
  readonly read: number;
  readonly bytes: number;
}

interface Found {
  readonly threads: readonly ThreadRecord[];
  /** Matches among the threads that were read. */
  readonly total: number;
}

export function threadSearch(redis: RedisConnection): Pick<ThreadStore, 'searchThreads'> {
  /** Reads the first of these threads, as many as one page may contain, and counts their ids and bytes. */
  async function readThreads(userId: string, threadIds: readonly string[]): Promise<ReadThreads> {
    const keys = threadIds.map((threadId) => redis.keys.thread({ userId, threadId }).record);
    const hashes = await readHashes(redis, keys, MAX_READ_BYTES);
    const threads = hashes.flatMap((flat, index) => {
      const threadId = threadIds[index];
      return threadId !== undefined && isListed(flat) ? [threadOf(threadId, flat)] : [];
    });
    return { threads, read: hashes.length, bytes: hashes.reduce((sum, flat) => sum + bytesOf(flat), 0) };
  }

  async function idsByUpdate(
    userId: string,
    order: ThreadSearch['sortOrder'],
    from: number,
    to: number,
  ): Promise<string[]> {
    const key = redis.keys.threads(userId);
    return redis.use((client) => (order === 'desc' ? client.zrevrange(key, from, to) : client.zrange(key, from, to)));
  }

  /** A page without a filter: the number of threads is the total, and the index is in the requested order. */
  async function page(query: ThreadSearch): Promise<Found> {
    const ids = await idsByUpdate(query.userId, query.sortOrder, query.offset, query.offset + query.limit - 1);
    const total = await redis.use((client) => client.zcard(redis.keys.threads(query.userId)));
    return { threads: (await readThreads(query.userId, ids)).threads, total };
  }

  async function scan(query: ThreadSearch): Promise<Found> {
    const ids = query.ids ?? (await idsByUpdate(query.userId, 'desc', 0, MAX_SCANNED - 1));
    const matches: SortKey[] = [];
    let bytesRead = 0;
    for (let from = 0; from < ids.length && bytesRead < MAX_SCANNED_BYTES; ) {
      const { threads, read, bytes } = await readThreads(query.userId, ids.slice(from, from + PAGE));
      matches.push(...threads.filter((thread) => isMatch(thread, query)).map(sortKeyOf));
      from += Math.max(read, 1);
      bytesRead += bytes;
    }
    matches.sort(inOrder(query));
    const page = matches.slice(query.offset, query.offset + query.limit).map((match) => match.thread_id);
    return { threads: (await readThreads(query.userId, page)).threads, total: matches.length };
  }

  return { searchThreads: (query) => (query.limit > 0 && isUnfiltered(query) ? page(query) : scan(query)) };
}

const isUnfiltered = (query: ThreadSearch): boolean =>
  query.sortBy === 'updated_at' &&
  [query.ids, query.metadata, query.values, query.status].every((filter) => filter === undefined);

const isMatch = (thread: ThreadRecord, { status, metadata, values }: ThreadSearch): boolean =>
  (status === undefined || thread.status === status) &&
  (metadata === undefined || containsAll(thread.metadata, metadata)) &&
  (values === undefined || containsAll(thread.values, values));

/** Orders equal fields by the thread id, so that pages do not overlap. */
function inOrder({ sortBy, sortOrder }: ThreadSearch): (first: SortKey, second: SortKey) => number {
  const sign = sortOrder === 'desc' ? -1 : 1;
  return (first, second) =>
    sign * (compare(first[sortBy], second[sortBy]) || compare(first.thread_id, second.thread_id));
}

const compare = (first: string, second: string): number => (first < second ? -1 : first > second ? 1 : 0);

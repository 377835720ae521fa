import type { RunSummary } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { processOf } from '../processes/process-registry.js';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember } from '../redis/keys.js';
import { MAX_READ_BYTES, readHashes } from '../redis/read-hashes.js';
import { summaryOf } from '../runs/run-codec.js';
import { textOrEmpty } from '../runs/unowned-threads.js';
import { readSetPage, type SetMember, setCursor } from '../pages/set-page.js';
import type { SetQuery } from '../ports/cron-store.js';

export interface PendingRun {
  readonly userId: string;
  readonly status: 'pending' | 'running';
  readonly run: RunSummary;
  /** The process that executes it; null: none does. */
  readonly owner: string | null;
}

export interface PendingRunQuery extends SetQuery {
  readonly status?: 'pending' | 'running' | undefined;
  readonly userId?: string | undefined;
}

export interface PendingRunPage {
  readonly runs: readonly PendingRun[];
  readonly nextCursor: string | null;
}

/** Runs of one thread that are read: the one under way and those behind it. */
const MAX_QUEUED = 200;
/** Threads of which one page reads the runs; to find those of one user it looks at more, without reading them. */
const MAX_THREADS = 2_000;
const MAX_SEEN = 20_000;
const PAGE = 100;

/**
 * Lists runs of all users that wait or are under way, by the time since when their thread has work. A page ends with a whole
 * thread, so it may have more runs than its limit by those of one thread, and fewer when many threads have none that matches.
 *
 * @throws {InvalidRequestError} for an invalid cursor
 */
export async function listPendingRuns(redis: RedisConnection, query: PendingRunQuery): Promise<PendingRunPage> {
  const runs: PendingRun[] = [];
  let cursor = query.cursor;
  const maxSeen = query.userId === undefined ? MAX_THREADS : MAX_SEEN;
  for (let seen = 0; seen < maxSeen; seen += PAGE) {
    const { members, nextCursor } = await readSetPage(redis, redis.keys.pending, { limit: PAGE, cursor });
    const found = await Promise.all(members.map((member) => runsOf(redis, member, query)));
    for (const [index, ofThread] of found.entries()) {
      runs.push(...ofThread);
      const last = members[index];
      const isMore = index + 1 < members.length || nextCursor !== null;
      if (runs.length >= query.limit && last !== undefined)
        return { runs, nextCursor: isMore ? setCursor(last) : null };
    }
    if (nextCursor === null) return { runs, nextCursor: null };
    cursor = nextCursor;
  }
  return { runs, nextCursor: cursor ?? null };
}

async function runsOf(
  redis: RedisConnection,
  { member }: SetMember,
  { status: wanted, userId }: PendingRunQuery,
): Promise<readonly PendingRun[]> {
  const thread = parsePendingMember(member);
  if (userId !== undefined && userId !== thread.userId) return [];
  const { record, inbox, lease } = redis.keys.thread(thread);
  const [current, queued, owner] = await redis.use((client) =>
    Promise.all([
      textOrEmpty(client.hget(record, 'current')),
      client.lrange(inbox, 0, MAX_QUEUED - 1),
      textOrEmpty(client.get(lease)),
    ]),
  );
  const summaries = await readRuns(redis, thread, current === '' ? queued : [current, ...queued]);
  return summaries.flatMap((run) => {
    const { status } = run;
    if (status !== 'pending' && status !== 'running') return [];
    if (wanted !== undefined && wanted !== status) return [];
    return [{ userId: thread.userId, status, run, owner: run.run_id === current ? ownerOf(owner) : null }];
  });
}

/** The process of a lease; the owner itself for leases without a process. */
const ownerOf = (lease: string): string | null =>
  lease === '' ? null : (processOf(lease) ?? lease.split(':')[0] ?? null);

async function readRuns(
  redis: RedisConnection,
  { userId }: ThreadKey,
  runIds: readonly string[],
): Promise<readonly RunSummary[]> {
  const prefix = redis.keys.runPrefix(userId);
  const found: (readonly unknown[])[] = [];
  while (found.length < runIds.length) {
    const keys = runIds.slice(found.length, found.length + PAGE).map((runId) => prefix + runId);
    found.push(...(await readHashes(redis, keys, MAX_READ_BYTES)));
  }
  return found.filter((flat) => flat.length > 0).map(summaryOf);
}

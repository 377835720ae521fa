import { readSetPage } from '../pages/set-page.js';
import type { SetQuery } from '../ports/cron-store.js';
import type { FailedEvent, OutboxStore, UserEvent, WaitingEvent } from '../ports/outbox-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { parsePendingMember } from '../redis/keys.js';
import { parseStored } from '../redis/stored-json.js';

/** Maximum number of waiting events of one list. */
const MAX_LISTED = 100;
const LISTED_FIELDS = ['url', 'thread_id', 'status', 'ended_at', 'attempts', 'error'];

/** The user's events that wait, the next one first, and those that were given up, newest first. */
export async function listEvents(
  redis: RedisConnection,
  userId: string,
  maxFailed: number,
): ReturnType<OutboxStore['list']> {
  const keys = redis.keys.outbox(userId);
  const [scored, failed] = await redis.use((client) =>
    Promise.all([
      client.zrange(keys.waiting, 0, MAX_LISTED - 1, 'WITHSCORES'),
      client.lrange(keys.failed, 0, maxFailed - 1),
    ]),
  );
  const ids = scored.filter((_, index) => index % 2 === 0);
  const hashes = await redis.use((client) =>
    Promise.all(ids.map((id) => client.hmget(keys.events + id, ...LISTED_FIELDS))),
  );
  const waiting = ids.flatMap((id, index) => waitingOf(id, Number(scored[2 * index + 1]), hashes[index] ?? []));
  return { waiting, failed: failed.map((text) => parseStored<FailedEvent>(text)) };
}

/** Waiting events of all users, oldest first. @throws {InvalidRequestError} for an invalid cursor */
export async function pageOfEvents(redis: RedisConnection, query: SetQuery): ReturnType<OutboxStore['page']> {
  const { members, nextCursor } = await readSetPage(redis, redis.keys.outbox('none').all, query);
  const listed = members.map(({ member }) => parsePendingMember(member));
  const events = await Promise.all(listed.map(({ userId, threadId }) => readEvent(redis, userId, threadId)));
  return { events: events.flat(), nextCursor };
}

/** None: it was delivered meanwhile. */
async function readEvent(redis: RedisConnection, userId: string, eventId: string): Promise<UserEvent[]> {
  const keys = redis.keys.outbox(userId);
  const [score, values] = await redis.use((client) =>
    Promise.all([client.zscore(keys.waiting, eventId), client.hmget(keys.events + eventId, ...LISTED_FIELDS)]),
  );
  return waitingOf(eventId, Number(score ?? 0), values).map((event) => ({ ...event, user_id: userId }));
}

function waitingOf(eventId: string, atMs: number, values: readonly (string | null)[]): WaitingEvent[] {
  const [url, threadId, status, endedAt, attempts, error] = values;
  if (url === null || url === undefined) return [];
  return [
    {
      event_id: eventId,
      url,
      thread_id: threadId ?? '',
      status: status ?? '',
      ended_at: endedAt ?? '',
      attempts: Number(attempts),
      error: error ?? null,
      next_attempt_at: new Date(atMs).toISOString(),
    },
  ];
}

import type { OutboxLimits, OutboxStore, TakenEvents, WebhookEvent } from '../ports/outbox-store.js';
import { auditLineParams } from '../executions/audit-log.js';
import { letterId, letterParams } from '../letters/letter-params.js';
import type { RedisConnection } from '../redis/connection.js';
import { foreignType } from '../redis/redis-errors.js';
import { hashOf } from '../redis/hash.js';
import { loadScript } from '../redis/scripts.js';
import { listEvents, pageOfEvents } from './waiting-events.js';
import { compressTexts, expandText, type StoredText } from '../redis/stored-text.js';

const scripts = {
  take: loadScript('outbox/take-events'),
  storeBody: loadScript('outbox/store-body'),
  settle: loadScript('outbox/settle-event'),
  hasten: loadScript('outbox/hasten-event'),
};

/** The outbox in Redis. */
export function redisOutbox(redis: RedisConnection, limits: OutboxLimits): OutboxStore {
  const { users: prefix, events, hosts } = redis.keys.outboxPrefixes;
  const { all, users } = redis.keys.outbox('none');
  const prefixes = { prefix, events, hosts };
  const run = (script: (typeof scripts)['take'], params: object) =>
    redis.run(script, [all, users], [JSON.stringify({ ...prefixes, ...params })]);

  return {
    take: async (limit, token) =>
      takenOf(
        await run(scripts.take, {
          limit,
          token,
          per_user: limits.perUser,
          per_host: limits.perHost,
          lease_ms: limits.leaseMs,
        }),
      ),
    storeBody: async ({ userId, eventId }, token, body) => {
      const [form = body] = await compressTexts([body]);
      const key = redis.keys.outbox(userId).events + eventId;
      const stored = (await redis.run(scripts.storeBody, [key], [token, form])) as StoredText | null;
      return stored === null ? null : expandText(stored);
    },
    settle: async ({ userId: user, eventId: event }, token, outcome) => {
      const [settled, key] = (await run(scripts.settle, {
        user,
        event,
        token,
        outcome: outcome.kind,
        error: outcome.kind === 'delivered' ? '' : outcome.error,
        delay_ms: outcome.kind === 'retry' ? outcome.delayMs : 0,
        max_age_ms: limits.maxAgeMs,
        max_failed: limits.maxFailed,
        letters: letterParams(redis),
        letter: letterId('webhook', user, event),
      })) as ['delivered' | 'retry' | 'failed' | 'lost' | 'damaged', unknown];
      if (settled === 'damaged') throw foreignType(key);
      return settled;
    },
    list: (userId) => listEvents(redis, userId, limits.maxFailed),
    page: (query) => pageOfEvents(redis, query),
    hasten: async (userId, eventId, line) => {
      const params = { ...prefixes, user: userId, event: eventId, ...auditLineParams(redis, line) };
      return (await redis.run(scripts.hasten, [all, users], [JSON.stringify(params)])) as 'ok' | 'none' | 'busy';
    },
    removeAll: async (userId) => {
      const keys = redis.keys.outbox(userId);
      const ids = await redis.use((client) => client.zrange(keys.waiting, 0, -1));
      await redis.use((client) =>
        Promise.all([
          client.unlink(keys.waiting, keys.running, keys.failed, ...ids.map((id) => keys.events + id)),
          client.zrem(users, userId),
          ...ids.map((id) => client.zrem(all, `${userId}/${id}`)),
        ]),
      );
    },
  };
}

async function takenOf(reply: unknown): Promise<TakenEvents> {
  const [now, wait, found] = reply as readonly [string, string, readonly (readonly [string, string, unknown])[]];
  const events: WebhookEvent[] = [];
  for (const [userId, eventId, flat] of found) events.push(await eventOf(userId, eventId, flat));
  return { nowMs: Number(now), waitMs: Number(wait) < 0 ? null : Number(wait), events };
}

async function eventOf(userId: string, eventId: string, flat: unknown): Promise<WebhookEvent> {
  const hash = hashOf(flat);
  const text = (field: string): string => hash.get(field) ?? '';
  const started = text('started');
  const body: StoredText | undefined = hash.get('body');
  return {
    userId,
    eventId,
    threadId: text('thread_id'),
    assistantId: text('assistant_id'),
    url: text('url'),
    status: text('status'),
    createdAt: text('created_at'),
    startedAt: started === '' ? null : new Date(Number(started)).toISOString(),
    endedAt: text('ended_at'),
    attempts: Number(text('attempts')),
    body: body === undefined ? null : await expandText(body),
  };
}

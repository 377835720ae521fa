import type { RedisConnection } from '../redis/connection.js';

/** The parameter `outbox` of scripts that end runs (`outbox/announce-end.lua`). */
export function outboxParams(redis: RedisConnection, userId: string) {
  const { all, users, waiting, events } = redis.keys.outbox(userId);
  return { all, users, waiting, events };
}

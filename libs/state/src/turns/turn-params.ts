import type { RedisConnection } from '../redis/connection.js';
import type { StoreSettings } from '../redis/store-settings.js';

/** The parameters of scripts on a thread that include `turns/turn-queue.lua`; none without a limit of running threads. */
export function turnParams({ keys: { turns } }: RedisConnection, { maxRunningPerUser }: StoreSettings) {
  if (maxRunningPerUser === 0) return { turns: undefined };
  return { turns: { ready: turns.ready, capped: turns.capped, users: turns.users, max_running: maxRunningPerUser } };
}

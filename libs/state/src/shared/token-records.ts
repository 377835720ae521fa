import type { TokenRecord, TokenRecords } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';

/** A refresh token that was not used for this long expires. */
const TTL_MS = 90 * 24 * 3_600_000;

const scripts = { claim: loadScript('shared/claim-token'), store: loadScript('shared/store-token') };

/** Access tokens that all processes share: a hash each. */
export function redisTokenRecords(redis: RedisConnection): TokenRecords {
  const parseRecord = (text: string): TokenRecord | null => (text === '' ? null : parseStored<TokenRecord>(text));
  return {
    read: async (name) =>
      parseRecord((await redis.use((client) => client.hget(redis.keys.token(name), 'record'))) ?? ''),
    async claim(name, owner, lockMs) {
      const reply = await redis.run(scripts.claim, [redis.keys.token(name)], [owner, lockMs]);
      const [state, record = ''] = reply as [string, string?];
      return state === 'held' ? { state, record: parseRecord(record) } : { state: 'busy' };
    },
    async complete(name, owner, record) {
      const text = record === null ? '' : JSON.stringify(record);
      return (await redis.run(scripts.store, [redis.keys.token(name)], [owner, text, TTL_MS])) === 1;
    },
  };
}

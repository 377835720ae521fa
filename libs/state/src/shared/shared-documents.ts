import { ConflictError, TooLargeError } from '@caribou/contracts';
import type { SharedDocuments } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';

const MAX_BYTES = 1024 * 1024;

const script = loadScript('shared/write-document');

/** Documents of the whole installation: a hash each. */
export function redisSharedDocuments(redis: RedisConnection): SharedDocuments {
  return {
    async read(name) {
      const [version, value] = await redis.use((client) => client.hmget(redis.keys.document(name), 'version', 'value'));
      if (typeof version !== 'string' || typeof value !== 'string') return { version: 0, value: undefined };
      return { version: Number(version), value: parseStored<unknown>(value) };
    },
    version: async (name) =>
      Number((await redis.use((client) => client.hget(redis.keys.document(name), 'version'))) ?? 0),
    async write(name, value, expected) {
      const text = JSON.stringify(value);
      if (Buffer.byteLength(text) > MAX_BYTES)
        throw new TooLargeError(`the document ${name} is too large`, { details: { limitBytes: MAX_BYTES } });
      const version = await redis.run(script, [redis.keys.document(name)], [String(expected), text]);
      if (version === 0) throw new ConflictError(`the document ${name} was changed by another request`);
      return Number(version);
    },
  };
}

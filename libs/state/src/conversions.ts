import type { ConversionRecord, ConversionStore, PendingConversion, ThreadKey } from '@caribou/core';
import type { RedisConnection } from './connection.js';
import { loadScript } from './scripts.js';
import { parseStored } from './stored-json.js';

const scripts = {
  claim: loadScript('claim-conversion'),
  keep: loadScript('keep-conversion'),
  forget: loadScript('forget-conversion'),
};

/** What is known of the conversion of uploads: a hash per thread, gone with the thread. */
export function redisConversions(redis: RedisConnection): ConversionStore {
  const keyOf = (thread: ThreadKey): string => redis.keys.conversions(thread);
  const keep = async (thread: ThreadKey, args: readonly (string | number)[]): Promise<boolean> =>
    (await redis.run(scripts.keep, [keyOf(thread)], args)) === 1;
  return {
    begin: async (file, record, { token, leaseMs }) => {
      await redis.run(scripts.claim, [keyOf(file)], [file.filename, token, leaseMs, JSON.stringify(record)]);
    },
    takeOver: async (file, { token, leaseMs }) => {
      const text = await redis.run(scripts.claim, [keyOf(file)], [file.filename, token, leaseMs, '']);
      return typeof text === 'string' ? parseStored<PendingConversion>(text) : null;
    },
    keep: (file, { token, leaseMs }, record) =>
      keep(file, [file.filename, token, leaseMs, record === undefined ? '' : JSON.stringify(record)]),
    settle: (file, token, record) => keep(file, [file.filename, token, '', JSON.stringify(record)]),
    read: async (thread, filenames) => {
      if (filenames.length === 0) return new Map();
      const texts = await redis.use((client) => client.hmget(keyOf(thread), ...filenames.map((name) => `r:${name}`)));
      return new Map(
        filenames.flatMap((name, at): [string, ConversionRecord][] => {
          const text = texts[at] ?? null;
          return text === null ? [] : [[name, parseStored<ConversionRecord>(text)]];
        }),
      );
    },
    forget: async (file) => {
      const text = await redis.run(scripts.forget, [keyOf(file)], [file.filename]);
      return typeof text === 'string' ? parseStored<ConversionRecord>(text) : null;
    },
  };
}

import type { ConversionRecord, ConversionStore, PendingConversion, ThreadKey } from '@caribou/core';
import type { RedisConnection } from './connection.js';
import { loadScript } from './scripts.js';
import { parseStored } from './stored-json.js';

const scripts = {
  claim: loadScript('claim-conversion'),
  keep: loadScript('keep-conversion'),
  forget: loadScript('forget-conversion'),
  note: loadScript('note-uploads'),
  since: loadScript('uploads-since'),
  withdraw: loadScript('withdraw-uploads'),
};

/** What is known of uploads and their conversion: a hash per thread, gone with the thread. */
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
    noteUploads: async (thread, filenames) => {
      if (filenames.length > 0) await redis.run(scripts.note, [keyOf(thread)], filenames);
    },
    withdrawUploads: async (thread, filenames) => {
      if (filenames.length > 0) await redis.run(scripts.withdraw, [keyOf(thread)], filenames);
    },
    uploadsSince: async (thread, number) => {
      const reply = await redis.run(scripts.since, [keyOf(thread)], [number]);
      const [newest, ...flat] = reply as [number, ...(string | number)[]];
      const files = flat.flatMap((name, at) =>
        at % 2 === 0 ? [{ name: String(name), number: Number(flat[at + 1]) }] : [],
      );
      return { newest, names: files.sort((one, other) => one.number - other.number).map(({ name }) => name) };
    },
  };
}

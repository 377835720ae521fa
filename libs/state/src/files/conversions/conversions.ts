import type { ConversionRecord, ConversionStore, PendingConversion, ThreadKey } from '@caribou/core';
import type { RedisConnection } from '../../redis/connection.js';
import { loadScript } from '../../redis/scripts.js';
import { parseStored } from '../../redis/stored-json.js';

const scripts = {
  claim: loadScript('files/conversions/claim-conversion'),
  update: loadScript('files/conversions/update-conversion'),
  delete: loadScript('files/conversions/delete-conversion'),
  note: loadScript('files/conversions/note-uploads'),
  since: loadScript('files/conversions/uploads-since'),
  withdraw: loadScript('files/conversions/withdraw-uploads'),
};

/** Records of uploads and their conversion: a hash per thread, removed with the thread. */
export function redisConversions(redis: RedisConnection): ConversionStore {
  const keyOf = (thread: ThreadKey): string => redis.keys.conversions(thread);
  const update = async (thread: ThreadKey, args: readonly (string | number)[]): Promise<boolean> =>
    (await redis.run(scripts.update, [keyOf(thread)], args)) === 1;
  const newestUpload = async (thread: ThreadKey): Promise<number> =>
    Number(await redis.use((client) => client.hget(keyOf(thread), 'n')));
  return {
    begin: async (file, record, { token, leaseMs }) => {
      await redis.run(scripts.claim, [keyOf(file)], [file.filename, token, leaseMs, JSON.stringify(record)]);
    },
    takeOver: async (file, { token, leaseMs }) => {
      const text = await redis.run(scripts.claim, [keyOf(file)], [file.filename, token, leaseMs, '']);
      return typeof text === 'string' ? parseStored<PendingConversion>(text) : null;
    },
    renew: (file, { token, leaseMs }, record) =>
      update(file, [file.filename, token, leaseMs, record === undefined ? '' : JSON.stringify(record)]),
    settle: (file, token, record) => update(file, [file.filename, token, '', JSON.stringify(record)]),
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
      const text = await redis.run(scripts.delete, [keyOf(file)], [file.filename]);
      return typeof text === 'string' ? parseStored<ConversionRecord>(text) : null;
    },
    recordUploads: async (thread, filenames) => {
      if (filenames.length > 0) await redis.run(scripts.note, [keyOf(thread)], filenames);
    },
    withdrawUploads: async (thread, filenames) => {
      if (filenames.length > 0) await redis.run(scripts.withdraw, [keyOf(thread)], filenames);
    },
    newestUpload,
    uploadsSince: async (thread, number, newestNumber = newestUpload(thread)) => {
      // Each run asks, and few threads have a new file: one command takes a fraction of a script's time.
      const last = await newestNumber;
      if (last <= number) return { newest: last, names: [] };
      const reply = await redis.run(scripts.since, [keyOf(thread)], [number]);
      const [newest, ...flat] = reply as [number, ...(string | number)[]];
      const files = flat.flatMap((name, at) =>
        at % 2 === 0 ? [{ name: String(name), number: Number(flat[at + 1]) }] : [],
      );
      return { newest, names: files.sort((one, other) => one.number - other.number).map(({ name }) => name) };
    },
  };
}

import type { RedisConnection } from './connection.js';
import { loadScript } from './scripts.js';

const script = loadScript('redis/read-hashes');

/** Maximum number of bytes of the records in one reply; the first is returned whatever its size. */
export const MAX_READ_BYTES = 4 * 1024 * 1024;

/** Reads the first of these hashes, as flat lists, as many as fit into `maxBytes`; one at least. */
export async function readHashes(
  redis: RedisConnection,
  keys: readonly string[],
  maxBytes: number,
): Promise<readonly (readonly string[])[]> {
  if (keys.length === 0) return [];
  return (await redis.run(script, [...keys], [maxBytes])) as string[][];
}

export const bytesOf = (flat: readonly string[]): number => flat.reduce((sum, text) => sum + text.length, 0);

import type { RedisConnection } from '@caribou/state';

const KEYS_PER_PAGE = 1_000;

/** The names of all keys, each once. */
export async function listKeys(redis: RedisConnection): Promise<readonly string[]> {
  const names = new Set<string>();
  let cursor = '0';
  do {
    const [next, page] = await redis.use((client) => client.scan(cursor, 'COUNT', KEYS_PER_PAGE));
    for (const name of page) names.add(name);
    cursor = next;
  } while (cursor !== '0');
  return [...names];
}

import type { ThreadSearch } from '../ports/thread-store.js';
import type { StoreFixture } from '@caribou/testing';

/** A search for the newest threads of alice. */
export const search = (overrides: Partial<ThreadSearch> = {}): ThreadSearch => ({
  userId: 'alice',
  limit: 10,
  offset: 0,
  sortBy: 'updated_at',
  sortOrder: 'desc',
  ...overrides,
});

export const idsFound = async (store: StoreFixture, query: ThreadSearch): Promise<string[]> =>
  (await store.threads.searchThreads(query)).threads.map((found) => found.thread_id);

/** Waits until the clock of Redis shows the next millisecond: times are stored in ms, so that a later write is newer. */
export async function nextMillisecond({ redis }: StoreFixture): Promise<void> {
  const now = async (): Promise<number> => {
    const [seconds, micros] = await redis.use((client) => client.time());
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  };
  const first = await now();
  while ((await now()) === first);
}

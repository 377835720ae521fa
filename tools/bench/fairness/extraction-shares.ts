import { createRedis, type RedisConnection } from '@caribou/state';
import { type Fleet, startFleet } from '../fleet.js';
import { inParallel, inTurn } from '../sample.js';
import { readStream } from '../sse-client.js';
import { until } from '../parts/until.js';
import { apiKeys, BUSY_USERS, busyUser, keyOf, QUIET_USER, workShares, type WorkShares } from './users.js';

const SLOTS = 4;
/** How long the model takes for each extraction. */
const WORK_MS = 200;
/** Threads of the user with few. */
const QUIET_THREADS = 12;
const CONFIG = `memory:\n  debounce_seconds: 300\n  worker_slots: ${SLOTS}\n`;

/**
 * A user whose threads become quiet one after the other, while many threads of ten others are.
 *
 * @param threads of each of the ten
 */
export async function extractionShares(threads: number): Promise<WorkShares> {
  const fleet = await startFleet({ config: CONFIG, env: { CARIBOU_API_KEYS: apiKeys() } });
  const redis = createRedis({ url: fleet.redisUrl });
  const waiting = threads * BUSY_USERS;
  try {
    await inParallel(waiting, 16, (index) => talk(fleet, busyUser(index % BUSY_USERS)));
    await inParallel(QUIET_THREADS, 4, () => talk(fleet, QUIET_USER));
    const quiet = await membersOf(redis, QUIET_USER);
    const others = await Promise.all(usersWithMuch().map((user) => membersOf(redis, user)));
    const beganMs = performance.now();
    await makeQuiet(redis, others.flat());
    const left = async (): Promise<number> => {
      const counts = await Promise.all(usersWithMuch().map((user) => countOf(redis, user)));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    await until(async () => (await left()) < waiting, 'the first extraction');
    const waits = await inTurn(quiet.length, (index) => waitOf(redis, quiet[index] ?? ''));
    const ended = waiting - (await left()) + waits.length;
    return workShares(waiting, waits, { ended, elapsedMs: performance.now() - beganMs });
  } finally {
    await redis.close();
    await fleet.stop();
  }
}

const usersWithMuch = (): readonly string[] => Array.from({ length: BUSY_USERS }, (_, index) => busyUser(index));

async function talk({ apiUrl }: Fleet, user: string): Promise<void> {
  await readStream({
    method: 'POST',
    url: `${apiUrl}/runs/stream`,
    headers: { 'x-api-key': keyOf(user) },
    body: {
      assistant_id: 'lead_agent',
      input: { messages: [{ type: 'human', content: `#say noted\nRemember: this. memory-wait:${WORK_MS}` }] },
      stream_mode: ['updates'],
      on_completion: 'keep',
    },
  });
}

/** The threads of a user that wait for their extraction. */
const membersOf = (redis: RedisConnection, user: string): Promise<readonly string[]> =>
  redis.use((client) => client.zrange(redis.keys.memoryUser(user).userDue, 0, -1));

const countOf = (redis: RedisConnection, user: string): Promise<number> =>
  redis.use((client) => client.zcard(redis.keys.memoryUser(user).userDue));

/** Makes threads ready, as they are after the debounce. */
const makeQuiet = (redis: RedisConnection, members: readonly string[]): Promise<unknown> =>
  redis.use((client) => client.zadd(redis.keys.memoryQueue, ...members.flatMap((member) => [1, member])));

/** Makes one thread ready; how long its extraction takes besides the model's time. */
async function waitOf(redis: RedisConnection, member: string): Promise<number> {
  const before = await countOf(redis, QUIET_USER);
  const beganMs = performance.now();
  await makeQuiet(redis, [member]);
  await until(async () => (await countOf(redis, QUIET_USER)) < before, 'the extraction of the user with few');
  return performance.now() - beganMs - WORK_MS;
}

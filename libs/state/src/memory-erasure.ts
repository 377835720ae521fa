import { UnavailableError } from '@caribou/contracts';
import type { RedisConnection } from './connection.js';
import { pendingMember } from './keys.js';
import { assertSound, memoryKeys } from './memory-record.js';
import { loadScript } from './scripts.js';
import type { Reply } from './thread-call.js';

const scripts = { forget: loadScript('forget-words'), erase: loadScript('erase-memory') };

/** Threads of one script: it holds up everybody else while it runs. */
const PAGE = 100;
/** Agents that begin a memory while the user's are erased make another round. */
const MAX_ROUNDS = 10;

/**
 * Erases what is remembered of a user. The words come first: an extraction that still ends before the memories go is
 * erased with them, and one that began later knows nothing of what was said before.
 */
export async function eraseMemories(redis: RedisConnection, userId: string): Promise<void> {
  const ids = await redis.use((client) => client.zrange(redis.keys.threads(userId), 0, -1));
  for (let from = 0; from < ids.length; from += PAGE) await forgetWords(redis, userId, ids.slice(from, from + PAGE));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const agents = await redis.use((client) => client.smembers(redis.keys.memoryAgents(userId)));
    if ((await eraseAgents(redis, userId, agents)) === 0) return;
  }
  throw new UnavailableError('new memories are written while the user is erased: erase again');
}

async function forgetWords(redis: RedisConnection, userId: string, threadIds: readonly string[]): Promise<void> {
  const threads = threadIds.map((threadId) => ({ userId, threadId }));
  const { due, userDue, running } = redis.keys.memoryUser(userId);
  const keys = threads.flatMap((thread) => [redis.keys.thread(thread).record, redis.keys.memoryJob(thread).jobs]);
  const reply = await redis.run(scripts.forget, [due, userDue, running, ...keys], threads.map(pendingMember));
  assertSound(reply as Reply);
}

/** Answers how many agents are left. */
async function eraseAgents(redis: RedisConnection, userId: string, agents: readonly string[]): Promise<number> {
  const { due, userDue, running } = redis.keys.memoryUser(userId);
  const set = redis.keys.memoryAgents(userId);
  const memories = agents.flatMap((agent) => memoryKeys(redis.keys.memory({ userId, agent })));
  const own = [due, userDue, running, redis.keys.memoryDead(userId), set];
  const gone = memories.filter((key) => key !== set);
  const reply = (await redis.run(scripts.erase, [...own, ...gone], [...agents])) as Reply;
  assertSound(reply);
  return Number(reply[1]);
}

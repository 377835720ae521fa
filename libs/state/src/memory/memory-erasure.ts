import { UnavailableError } from '@caribou/contracts';
import type { MemoryScope } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { parseMemoryMember, pendingMember } from '../redis/keys.js';
import { assertSound, memoryKeys } from './memory-record.js';
import { loadScript } from '../redis/scripts.js';
import type { Reply } from '../redis/thread-call.js';

const scripts = {
  skip: loadScript('memory/skip-messages'),
  erase: loadScript('memory/erase-memory'),
  agent: loadScript('memory/erase-agent'),
};

/** Threads per script: Redis serves no other client while it runs. */
const PAGE = 100;
/** An agent whose memory begins while the user's are erased needs another round. */
const MAX_ROUNDS = 10;

/**
 * Erases the memories of a user. The messages are excluded first: an extraction that ends before the memories are removed
 * is erased with them, and a later one does not read earlier messages.
 */
export async function eraseMemories(redis: RedisConnection, userId: string): Promise<void> {
  const ids = await redis.use((client) => client.zrange(redis.keys.threads(userId), 0, -1));
  for (let from = 0; from < ids.length; from += PAGE)
    await excludeMessages(redis, userId, ids.slice(from, from + PAGE));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const agents = await redis.use((client) => client.smembers(redis.keys.memoryAgents(userId)));
    if ((await eraseAgents(redis, userId, agents)) === 0) return;
  }
  throw new UnavailableError('new memories were written while the user was erased: erase again');
}

/** Erases one agent's memory of a user, and excludes the messages to it that were not read yet. */
export async function eraseAgentMemory(redis: RedisConnection, scope: MemoryScope): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const members = await unreadOf(redis, scope);
    for (let from = 0; from === 0 || from < members.length; from += PAGE)
      await eraseAgent(redis, scope, members.slice(from, from + PAGE));
    if (members.length === 0) return;
  }
  throw new UnavailableError('new messages to the agent were added while its memory was erased: erase again');
}

/** Lists the threads with unread messages to this agent. */
async function unreadOf(redis: RedisConnection, { userId, agent }: MemoryScope): Promise<readonly string[]> {
  const { userDue } = redis.keys.memoryUser(userId);
  const members = await redis.use((client) => client.zrange(userDue, 0, -1));
  return members.filter((member) => parseMemoryMember(member).agent === agent);
}

async function eraseAgent(redis: RedisConnection, scope: MemoryScope, members: readonly string[]): Promise<void> {
  const { due, userDue, running } = redis.keys.memoryUser(scope.userId);
  const threads = members.map(parseMemoryMember);
  const keys = threads.flatMap((thread) => [redis.keys.thread(thread).record, redis.keys.memoryJob(thread).jobs]);
  const memory = memoryKeys(redis.keys.memory(scope));
  const reply = await redis.run(scripts.agent, [due, userDue, running, ...memory, ...keys], [scope.agent, ...members]);
  assertSound(reply as Reply);
}

async function excludeMessages(redis: RedisConnection, userId: string, threadIds: readonly string[]): Promise<void> {
  const threads = threadIds.map((threadId) => ({ userId, threadId }));
  const { due, userDue, running } = redis.keys.memoryUser(userId);
  const keys = threads.flatMap((thread) => [redis.keys.thread(thread).record, redis.keys.memoryJob(thread).jobs]);
  const reply = await redis.run(scripts.skip, [due, userDue, running, ...keys], threads.map(pendingMember));
  assertSound(reply as Reply);
}

/** Returns the number of remaining agents. */
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

import { ConflictError } from '@caribou/contracts';
import type {
  DeadMemoryJob,
  MemoryChange,
  MemoryScope,
  MemoryStatus,
  MemoryStore,
  MemoryWrite,
  QuarantinedMemory,
  StoredMemory,
} from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { differenceOf } from './memory-difference.js';
import { eraseAgentMemory, eraseMemories } from './memory-erasure.js';
import { assertSound, encodeMemory, HISTORY_LIMITS, memoryKeys, readMemory } from './memory-record.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';
import type { Reply } from '../redis/thread-call.js';

const scripts = { write: loadScript('memory/write-memory'), status: loadScript('memory/memory-status') };

/** The memories of users: a hash per user and agent, changed by scripts that compare its revision. */
export function redisMemoryStore(redis: RedisConnection): MemoryStore {
  return {
    read: (scope) => readMemory(redis, scope),
    write: (scope, write) => writeMemory(redis, scope, write),
    history: async (scope) => {
      const { history } = redis.keys.memory(scope);
      const entries = await redis.use((client) => client.lrange(history, 0, -1));
      return entries.map((entry) => parseStored<MemoryChange>(entry));
    },
    agents: (userId) => agentsOf(redis, userId),
    status: (userId) => statusOf(redis, userId),
    eraseAgent: (scope) => eraseAgentMemory(redis, scope),
    eraseUser: (userId) => eraseMemories(redis, userId),
  };
}

async function writeMemory(
  redis: RedisConnection,
  scope: MemoryScope,
  { document, expectedRevision, cause }: MemoryWrite,
): Promise<StoredMemory> {
  const text = encodeMemory(document);
  const before = await readMemory(redis, scope);
  if (before.revision !== expectedRevision) throw toConflictError(scope);
  const parameters = {
    agent: scope.agent,
    expected: expectedRevision,
    new_era: cause.kind === 'cleared' || cause.kind === 'imported',
    ...HISTORY_LIMITS,
  };
  const change = { cause, ...differenceOf(before.document, document) };
  const reply = (await redis.run(scripts.write, memoryKeys(redis.keys.memory(scope)), [
    JSON.stringify(parameters),
    text,
    JSON.stringify(change),
  ])) as Reply;
  assertSound(reply);
  if (reply[0] === 'conflict') throw toConflictError(scope);
  return { document, revision: Number(reply[1]), era: Number(reply[2]) };
}

const toConflictError = ({ agent }: MemoryScope): ConflictError =>
  new ConflictError('the memory was changed by another request: read it again', { details: { agent } });

const agentsOf = async (redis: RedisConnection, userId: string): Promise<readonly string[]> =>
  (await redis.use((client) => client.smembers(redis.keys.memoryAgents(userId)))).sort();

async function statusOf(redis: RedisConnection, userId: string): Promise<MemoryStatus> {
  const { userDue, running } = redis.keys.memoryUser(userId);
  const keys = [userDue, running, redis.keys.memoryDead(userId)];
  const [due, atWork, dead] = (await redis.run(scripts.status, keys, [])) as [number, number, string[]];
  const agents = await agentsOf(redis, userId);
  const reports = await Promise.all(
    agents.map(async (agent) => {
      const entries = await redis.use((client) => client.lrange(redis.keys.memory({ userId, agent }).reports, 0, -1));
      return entries.map((entry) => ({ agent, ...parseStored<Omit<QuarantinedMemory, 'agent'>>(entry) }));
    }),
  );
  return {
    due,
    running: atWork,
    dead: dead.map((entry) => parseStored<DeadMemoryJob>(entry)),
    quarantined: reports.flat(),
  };
}

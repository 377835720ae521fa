import { BugError, CustomAgent, InvalidRequestError, MAX_AGENTS } from '@caribou/contracts';
import type { AgentStore, AgentWrite, AgentWriteOutcome, StoredAgent } from '@caribou/core';
import { z } from 'zod';
import type { RedisConnection } from '../redis/connection.js';
import { assertSound } from '../memory/memory-record.js';
import { loadScript } from '../redis/scripts.js';
import type { Reply } from '../redis/thread-call.js';

/** The number of last calls of which a repetition is detected: more than one answer of a model can make. */
const MAX_CALLS = 64;

const scripts = {
  write: loadScript('users/write-agent'),
  read: loadScript('users/read-agent'),
  remove: loadScript('users/remove-agent'),
};

const Stored = CustomAgent.omit({ soul: true }).extend({
  version: z.number().int(),
  created_at: z.string(),
  updated_at: z.string(),
  made_in: z.string().nullable(),
});

/** Custom agents: two hashes per user, so that a list reads no souls. */
export function redisAgents(redis: RedisConnection): AgentStore {
  const keysOf = (userId: string): string[] => Object.values<string>({ ...redis.keys.agents(userId) });
  return {
    list: async (userId) => {
      const found = await redis.use((client) => client.hvals(redis.keys.agents(userId).agents));
      return found.map((text) => agentOf(text, '')).sort((left, right) => (left.name < right.name ? -1 : 1));
    },
    read: async (userId, name) => {
      const reply = await redis.run(scripts.read, keysOf(userId), [name]);
      return isPair(reply) ? agentOf(reply[0], reply[1]) : null;
    },
    write: async (userId, write) => {
      const reply = (await redis.run(scripts.write, keysOf(userId), argsOf(write))) as Reply;
      return outcomeOf(reply, write.agent.soul);
    },
    remove: async (userId, name) => {
      const reply = (await redis.run(scripts.remove, keysOf(userId), [name])) as Reply;
      assertSound(reply);
      return reply[1] === 1;
    },
    profile: async (userId) => (await redis.use((client) => client.get(redis.keys.profile(userId)))) ?? '',
    writeProfile: async (userId, content) => {
      const key = redis.keys.profile(userId);
      await redis.use<unknown>((client) => (content === '' ? client.del(key) : client.set(key, content)));
    },
  };
}

const isPair = (reply: unknown): reply is [string, string] => Array.isArray(reply) && reply.length === 2;

const agentOf = (text: string, soul: string): StoredAgent => ({ ...Stored.parse(JSON.parse(text)), soul });

/** @throws {InvalidRequestError} naming the field that breaks the contract */
function argsOf({ agent, madeIn, expected, call = '' }: AgentWrite): (string | number)[] {
  const parsed = CustomAgent.safeParse(agent);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new InvalidRequestError(`${issue?.path.map(String).join('.') ?? 'agent'}: ${issue?.message ?? 'not valid'}`);
  }
  const { soul, ...record } = parsed.data;
  return [record.name, expected, JSON.stringify({ ...record, made_in: madeIn }), soul, call, MAX_AGENTS, MAX_CALLS];
}

function outcomeOf(reply: Reply, soul: string): AgentWriteOutcome {
  assertSound(reply);
  const [outcome, record, storedSoul] = reply;
  switch (outcome) {
    case 'written':
      return { outcome, agent: agentOf(String(record), soul) };
    case 'repeated':
      return { outcome, agent: agentOf(String(record), String(storedSoul)) };
    case 'changed':
    case 'removed':
    case 'full':
      return { outcome };
    default:
      throw new BugError(`unknown reply of write-agent: ${String(outcome)}`);
  }
}

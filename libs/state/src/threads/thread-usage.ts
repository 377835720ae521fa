import { NotFoundError } from '@caribou/contracts';
import type { ThreadStore, ThreadUsage } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';

/** Reads the tokens that `includes/usage.lua` counts. */
export function threadUsage(redis: RedisConnection): Pick<ThreadStore, 'threadUsage'> {
  return {
    threadUsage: async (thread) => {
      const keys = redis.keys.thread(thread);
      const [[createdAt, ended], totals] = await redis.use((client) =>
        Promise.all([client.hmget(keys.record, 'created_at', 'ended'), client.hgetall(keys.usage)]),
      );
      if (createdAt === null || createdAt === undefined || typeof ended === 'string') {
        throw new NotFoundError(`Thread ${thread.threadId} does not exist`, { details: { threadId: thread.threadId } });
      }
      return usageOf(totals);
    },
  };
}

function usageOf(totals: Readonly<Record<string, string>>): ThreadUsage {
  const number = (field: string): number => Number(totals[field] ?? 0);
  const models = Object.keys(totals)
    .filter((field) => field.startsWith('t:'))
    .map((field) => field.slice(2))
    .sort();
  return {
    inputTokens: number('input'),
    outputTokens: number('output'),
    runs: number('runs'),
    models: Object.fromEntries(
      models.map((model) => [model, { tokens: number(`t:${model}`), runs: number(`r:${model}`) }]),
    ),
    callers: {
      lead_agent: number('c:lead_agent'),
      subagent: number('c:subagent'),
      middleware: number('c:middleware'),
    },
  };
}

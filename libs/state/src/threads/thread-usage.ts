import { NotFoundError } from '@caribou/contracts';
import type { BilledTokens } from '@caribou/core';
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
      models.map((model) => {
        const tokens = number(`t:${model}`);
        return [model, { tokens, runs: number(`r:${model}`), parts: partsOf(model, tokens, number) }];
      }),
    ),
    callers: {
      lead_agent: number('c:lead_agent'),
      subagent: number('c:subagent'),
      middleware: number('c:middleware'),
    },
  };
}

/** @param tokens all tokens of the model, of which some may have been counted without their parts */
function partsOf(model: string, tokens: number, number: (field: string) => number): BilledTokens | undefined {
  const [input, output] = [number(`in:${model}`), number(`out:${model}`)];
  if (input + output !== tokens) return undefined;
  const [cached, written] = [number(`cached:${model}`), number(`written:${model}`)];
  return { input, cached, written, output, reasoning: number(`reasoning:${model}`) };
}

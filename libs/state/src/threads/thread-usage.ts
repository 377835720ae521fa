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

type Totals = Readonly<Record<string, string>>;

/** The counts of `m:<model>`, in order. */
interface ModelTotals extends BilledTokens {
  readonly runs: number;
  readonly tokens: number;
}

/** The sums of what this version counted in a thread, and of what an earlier one did. */
function usageOf(totals: Totals): ThreadUsage {
  const number = numberIn(totals);
  const [runs = 0, input = 0, output = 0] = countsIn(totals['all']);
  return {
    inputTokens: number('input') + input,
    outputTokens: number('output') + output,
    runs: number('runs') + runs,
    models: Object.fromEntries(modelsIn(totals).map((model) => [model, usageOfModel(model, totals)])),
    callers: {
      lead_agent: number('c:lead_agent'),
      subagent: number('c:subagent'),
      middleware: number('c:middleware'),
    },
  };
}

const numberIn =
  (totals: Totals) =>
  (field: string): number =>
    Number(totals[field] ?? 0);

const countsIn = (text: string | undefined): readonly number[] => (text ?? '').split(',').map(Number);

const modelsIn = (totals: Totals): readonly string[] => {
  const names = Object.keys(totals).filter((field) => field.startsWith('m:') || field.startsWith('t:'));
  return [...new Set(names.map((field) => field.slice(2)))].sort();
};

function usageOfModel(model: string, totals: Totals): ThreadUsage['models'][string] {
  const [own, earlier] = [modelTotals(totals[`m:${model}`]), earlierTotals(model, numberIn(totals))];
  const tokens = own.tokens + earlier.tokens;
  const parts = {
    input: own.input + earlier.input,
    cached: own.cached + earlier.cached,
    written: own.written + earlier.written,
    output: own.output + earlier.output,
    reasoning: own.reasoning + earlier.reasoning,
  };
  // Some of the tokens may have been counted without their parts.
  const hasParts = parts.input + parts.output === tokens;
  return { tokens, runs: own.runs + earlier.runs, parts: hasParts ? parts : undefined };
}

function modelTotals(text: string | undefined): ModelTotals {
  const [runs = 0, tokens = 0, input = 0, output = 0, cached = 0, written = 0, reasoning = 0] = countsIn(text);
  return { runs, tokens, input, output, cached, written, reasoning };
}

const earlierTotals = (model: string, number: (field: string) => number): ModelTotals => ({
  runs: number(`r:${model}`),
  tokens: number(`t:${model}`),
  input: number(`in:${model}`),
  output: number(`out:${model}`),
  cached: number(`cached:${model}`),
  written: number(`written:${model}`),
  reasoning: number(`reasoning:${model}`),
});

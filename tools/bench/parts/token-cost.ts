import type { Bench } from '../bench.js';
import { addCpu, type CpuByProcess, cpuMeter } from '../cpu-time.js';
import { delaysWhileAllOpen, openStreams, type PacedStreams, stampedTurn } from '../load.js';
import { addUse, NO_USE, type RedisUse, scaleUse, subtractUse } from '../store/redis-use.js';
import { sum } from '../sample.js';

/** Rounds in which turns of many tokens and of one token take turns, so that other work of the machine meets both. */
const ROUNDS = 2;

/** What one streamed token costs. */
export interface TokenCost {
  readonly redis: RedisUse;
  /** Milliseconds of CPU by process. */
  readonly cpu: CpuByProcess;
  /** Delays of all tokens that were sent while all streams were open. */
  readonly delaysMs: readonly number[];
}

interface Cost {
  readonly redis: RedisUse;
  readonly cpu: CpuByProcess;
}

/**
 * Measures the cost of a token at the store and in the services. From the cost of turns with many tokens it subtracts
 * that of as many turns with one token that take just as long, so that admission, claim, commits, renewals of leases
 * and what the services do at rest cancel out.
 *
 * @throws Error when tokens are missing at the client
 */
export async function tokenCost(bench: Bench, load: PacedStreams): Promise<TokenCost> {
  const { streams, tokens, everyMs } = load;
  const oneToken = `#tokens 1 ${tokens * everyMs}`;
  let cost: Cost = { redis: NO_USE, cpu: {} };
  const delaysMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const one = await measureStreams(bench, streams, oneToken);
    const many = await measureStreams(bench, streams, stampedTurn(load));
    const seen = sum(many.times.map((times) => times.tokens));
    if (seen !== streams * tokens) throw new Error(`${seen} of ${streams * tokens} tokens reached the clients`);
    cost = {
      redis: addUse(cost.redis, subtractUse(many.redis, one.redis)),
      cpu: addCpu(addCpu(cost.cpu, many.cpu), one.cpu, -1),
    };
    delaysMs.push(...delaysWhileAllOpen(many.times, load));
  }
  const perToken = 1 / (ROUNDS * streams * (tokens - 1));
  return { redis: scaleUse(cost.redis, perToken), cpu: addCpu({}, cost.cpu, perToken), delaysMs };
}

async function measureStreams({ fleet, figures, caribou }: Bench, streams: number, script: string) {
  const threads = await caribou.prepare(streams);
  const readMeter = cpuMeter({ ...fleet.services, ...fleet.servers });
  const before = await figures.redisUse();
  const times = await openStreams(caribou, threads, script);
  const redis = subtractUse(await figures.redisUse(), before);
  return { times, redis, cpu: readMeter() };
}

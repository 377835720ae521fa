import type { Bench } from '../bench.js';
import { measureTokenDelays, type PacedStreams } from '../load.js';
import type { Budget } from '../report.js';
import { say, sayShares } from '../report.js';
import { sayRedisUse } from '../store/report-redis.js';
import { median, quantile } from '../sample.js';
import type { Target } from '../turns.js';
import { tokenCost } from './token-cost.js';

const STREAMS = 50;

/**
 * Tokens of a model that sends at a steady pace: how late they reach the client, beside the floor, at 25 and at 50
 * tokens a second in each of 50 streams; and what one of them costs at 50 a second.
 */
export async function tokens(bench: Bench): Promise<readonly Budget[]> {
  const { floor, caribou, times } = bench;
  const load = { streams: STREAMS, tokens: times(300), everyMs: 40 };
  say();
  for (const target of [floor, caribou]) await measureTokenDelays(target, { ...load, tokens: 60 });
  const own = sayDelays(floor, load, await measureTokenDelays(floor, load));
  const withProduct = sayDelays(caribou, load, await measureTokenDelays(caribou, load));
  await sayCost(bench, { streams: STREAMS, tokens: Math.max(100, times(200)), everyMs: 20 });
  return [{ what: `token over the floor at ${STREAMS} streams, p99`, value: withProduct - own, unit: 'ms', atMost: 5 }];
}

async function sayCost(bench: Bench, load: PacedStreams): Promise<void> {
  const { floor, caribou } = bench;
  sayDelays(floor, load, await measureTokenDelays(floor, load));
  const { redis, cpu, delaysMs } = await tokenCost(bench, load);
  sayDelays(caribou, load, delaysMs);
  sayRedisUse(`Redis per token, ${paceOf(load)}`, redis);
  say(`Events appended per token: ${(redis.calls['xadd'] ?? 0).toFixed(2)}`);
  sayShares('CPU per token, ms by process', cpu);
}

const paceOf = ({ streams, everyMs }: PacedStreams): string =>
  `${streams} streams of ${1000 / everyMs} tokens a second`;

/** Prints the delays and returns their p99. */
function sayDelays(target: Target, load: PacedStreams, delaysMs: readonly number[]): number {
  const p99 = quantile(delaysMs, 0.99);
  const figures = `p50 ${median(delaysMs).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
  say(`Delay of a token, ${paceOf(load)}, ${target.name}: ${figures}`);
  return p99;
}

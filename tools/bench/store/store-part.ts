import { type Bench, type Part } from '../bench.js';
import { measureLoads, simpleTurn, type Subject, warmUp } from '../load.js';
import { type Budget, ownCpuMsOf, say } from '../report.js';
import { inTurn, median, sum } from '../sample.js';
import { type RedisUse, innerCalls } from './redis-use.js';
import { sayRedisUse, sayStoredBytes } from './report-redis.js';
import { storedBytes } from './store-bytes.js';
import type { KindOfKeys } from './stored-keys.js';
import { turnUse } from './store-use.js';

const FULL_LOAD = 64;
const ROUNDS = 7;
/** CPU of the floor for a turn, in milliseconds, on the machine for which the budget of Redis was set. */
const BUDGET_FLOOR_MS = 0.5;

interface Round {
  readonly floorMs: number;
  readonly redis: RedisUse;
}

/**
 * What a simple turn costs at Redis, one after the other and 64 at once, and what a turn leaves there. Rounds of the floor lie between those of
 * Caribou: milliseconds of another machine, or of another minute, compare by them only.
 */
export const store: Part = async (bench) => {
  const { fleet, floor, caribou, times } = bench;
  const floorSide: Subject = { target: floor, pids: fleet.floor };
  await warmUp([floorSide, { target: caribou, pids: fleet.services }], times);
  say();
  const alone = await turnUse(bench, 1, times(12));
  sayRedisUse('Redis per simple turn, 1 at once', alone.redis);
  const rounds = await inTurn(ROUNDS, () => measureRound(bench, floorSide));
  const middle = [...rounds].sort((a, b) => a.redis.cpuMs - b.redis.cpuMs)[Math.floor(ROUNDS / 2)];
  if (middle !== undefined)
    sayRedisUse(`Redis per simple turn, ${FULL_LOAD} at once, median of ${ROUNDS} rounds`, middle.redis);
  for (const { floorMs, redis } of rounds)
    say(
      `  floor ${floorMs.toFixed(2)} ms, Redis ${redis.cpuMs.toFixed(3)} ms, ${(redis.cpuMs / floorMs).toFixed(2)} ×`,
    );
  const { plain, tool } = await storedBytes();
  sayStoredBytes('a simple turn', plain);
  sayStoredBytes('a turn with five calls of a tool with results of 2 KiB', tool);
  return [...useBudgets(rounds), ...bytesBudgets(plain, tool)];
};

async function measureRound(bench: Bench, floorSide: Subject): Promise<Round> {
  const load = { concurrency: FULL_LOAD, turns: bench.times(800), script: simpleTurn() };
  const [floor] = await measureLoads([floorSide], load);
  const { redis } = await turnUse(bench, FULL_LOAD, bench.times(12));
  return { floorMs: floor === undefined ? Number.NaN : ownCpuMsOf(floor), redis };
}

function useBudgets(rounds: readonly Round[]): readonly Budget[] {
  const at = `Redis per simple turn, ${FULL_LOAD} at once`;
  const scaled = rounds.map(({ redis, floorMs }) => (redis.cpuMs / floorMs) * BUDGET_FLOOR_MS);
  return [
    { what: at, value: median(rounds.map(({ redis }) => redis.cpuMs)), unit: 'ms', atMost: 0.8 },
    { what: `the same where the floor is ${BUDGET_FLOOR_MS} ms`, value: median(scaled), unit: 'ms', atMost: 0.8 },
    { what: 'commands per turn', value: median(rounds.map(({ redis }) => innerCalls(redis))), unit: '', atMost: 90 },
  ];
}

function bytesBudgets(plain: readonly KindOfKeys[], tool: readonly KindOfKeys[]): readonly Budget[] {
  const remaining = (kinds: readonly KindOfKeys[]): number =>
    sum(kinds.flatMap(({ bytes, expires }) => (expires ? [] : [bytes]))) / 1024;
  return [
    { what: 'resident per plain turn', value: remaining(plain), unit: 'KiB', atMost: 3.5 },
    { what: 'resident per tool turn', value: remaining(tool), unit: 'KiB', atMost: 12 },
  ];
}

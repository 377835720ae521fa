import type { Part } from '../bench.js';
import { say } from '../report.js';
import { sayRedisUse, sayStoredBytes } from './report-redis.js';
import { storedBytes } from './store-bytes.js';
import { turnUse } from './store-use.js';

/** What a simple turn costs at Redis, one after the other and 64 at once, and what a turn leaves there. */
export const store: Part = async (bench) => {
  say();
  for (const atOnce of [1, 64]) {
    const { redis } = await turnUse(bench, atOnce, bench.times(12));
    sayRedisUse(`Redis per simple turn, ${atOnce} at once`, redis);
  }
  const { plain, tool } = await storedBytes();
  sayStoredBytes('a simple turn', plain);
  sayStoredBytes('a turn with five calls of a tool with results of 2 KiB', tool);
  return [];
};

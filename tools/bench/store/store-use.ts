import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { simpleTurn } from '../load.js';
import { type RedisUse, scaleUse, subtractUse } from './redis-use.js';
import { inParallel, inTurn } from '../sample.js';
import type { ServerFigures } from '../server-figures.js';

/** Threads that take part; each has one turn before the measured ones. */
const THREADS = 64;
const REST_MS = 3_000;

/** What Redis does per simple turn. */
export interface TurnUse {
  readonly atOnce: number;
  readonly redis: RedisUse;
}

/**
 * Measures what Redis does for a simple turn on a thread that had a few before, with so many turns at once. What it
 * does in the same time while the system is at rest is subtracted.
 */
export async function turnUse(bench: Bench, atOnce: number, turnsPerThread: number): Promise<TurnUse> {
  const { caribou, figures } = bench;
  const threads = await caribou.prepare(THREADS);
  const turn = (index: number) => caribou.turn(threads[index % THREADS] ?? '', simpleTurn());
  await inParallel(THREADS, 16, turn);
  const atRest = await useAtRest(figures);
  const turns = THREADS * turnsPerThread;
  const startedMs = performance.now();
  const before = await figures.redisUse();
  // Each lane has threads of its own, so that no thread gets a second turn while its first is running.
  await inParallel(atOnce, atOnce, (lane) => inTurn(turns / atOnce, (step) => turn(lane + step * atOnce)));
  const use = subtractUse(await figures.redisUse(), before);
  const meanwhile = scaleUse(atRest, (performance.now() - startedMs) / 1000);
  return { atOnce, redis: scaleUse(subtractUse(use, meanwhile), 1 / turns) };
}

/** What Redis does per second while no turn runs. */
async function useAtRest(figures: ServerFigures): Promise<RedisUse> {
  await sleep(1_000);
  const before = await figures.redisUse();
  await sleep(REST_MS);
  return scaleUse(subtractUse(await figures.redisUse(), before), 1000 / REST_MS);
}

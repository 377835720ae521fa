import { cpuMeter, type CpuByProcess, type Pids } from './cpu-time.js';
import { inParallel, median, quantile } from './sample.js';
import type { Target } from './turns.js';

/** Tokens of a simple turn's answer. */
export const SIMPLE_TOKENS = 40;

/** The script of a simple turn; `delayMs` before each token. */
export const simpleTurn = (delayMs = 0): string => `#tokens ${SIMPLE_TOKENS} ${delayMs}`;

/** So many turns, so many at once. */
export interface Load {
  readonly concurrency: number;
  readonly turns: number;
  readonly script: string;
}

export interface LoadResult {
  readonly name: string;
  readonly concurrency: number;
  /** Milliseconds of CPU per turn, by process. */
  readonly cpu: CpuByProcess;
  readonly turnsPerSecond: number;
  readonly firstTokenMs: { readonly p50: number; readonly p99: number };
  readonly totalMs: { readonly p50: number; readonly p99: number };
}

/**
 * Drives a load, after warming up with another, and divides the CPU time of the processes by its turns.
 *
 * @throws Error when an answer is not whole
 */
export async function measureLoad(target: Target, load: Load, pids: Pids): Promise<LoadResult> {
  const { concurrency, turns, script } = load;
  const warmUp = Math.min(turns, concurrency * 2);
  const places = await target.prepare(warmUp + turns);
  const turn = async (index: number) => {
    const times = await target.turn(places[index] ?? '', script);
    if (times.tokens !== SIMPLE_TOKENS) throw new Error(`${target.name}: ${times.tokens} of ${SIMPLE_TOKENS} tokens`);
    return times;
  };
  await inParallel(warmUp, concurrency, turn);
  const readMeter = cpuMeter(pids);
  const startedMs = performance.now();
  const times = await inParallel(turns, concurrency, (index) => turn(warmUp + index));
  const elapsedMs = performance.now() - startedMs;
  const cpu = Object.fromEntries(Object.entries(readMeter()).map(([name, ms]) => [name, ms / turns]));
  return {
    name: target.name,
    concurrency,
    cpu,
    turnsPerSecond: (turns * 1000) / elapsedMs,
    firstTokenMs: spread(times.map((time) => time.firstTokenMs)),
    totalMs: spread(times.map((time) => time.totalMs)),
  };
}

const spread = (values: readonly number[]) => ({ p50: median(values), p99: quantile(values, 0.99) });

/** Turn by turn in alternation, so that whatever else the machine does meets both alike. */
export async function alternate(
  targets: readonly Target[],
  turns: number,
  script: string,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const places = await Promise.all(targets.map((target) => target.prepare(turns)));
  const firstTokens = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  for (let index = 0; index < turns; index += 1) {
    for (const [at, target] of targets.entries()) {
      const { firstTokenMs } = await target.turn(places[at]?.[index] ?? '', script);
      firstTokens.get(target.name)?.push(firstTokenMs);
    }
  }
  return firstTokens;
}

/** Delays of each token from the model to the reader, in milliseconds, with so many streams at once. */
export async function tokenDelays(
  target: Target,
  load: { readonly streams: number; readonly script: string },
): Promise<readonly number[]> {
  const places = await target.prepare(load.streams);
  const times = await inParallel(load.streams, load.streams, (index) => target.turn(places[index] ?? '', load.script));
  return times.flatMap((time) => time.tokenDelaysMs);
}

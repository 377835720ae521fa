import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMeter, type CpuByProcess, type Pids } from './cpu-time.js';
import { inParallel, median, quantile } from './sample.js';
import type { StreamTimes } from './sse-client.js';
import type { Target } from './turns.js';

/** Tokens of a simple turn's answer. */
export const SIMPLE_TOKENS = 40;

/** The script of a simple turn; `delayMs` before each token. */
export const simpleTurn = (delayMs = 0): string => `#tokens ${SIMPLE_TOKENS} ${delayMs}`;

/** The number of turns, and how many at once. */
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

/** A server under load, and the processes whose CPU counts. */
export interface Subject {
  readonly target: Target;
  readonly pids: Pids;
}

/** Rounds that a load is cut into, so that other work of the machine affects all subjects alike. */
const ROUNDS = 4;

/**
 * Drives the same load at each subject, in alternation and after a warm-up.
 *
 * @throws Error when an answer is not whole
 */
export async function measureLoads(subjects: readonly Subject[], load: Load): Promise<LoadResult[]> {
  const runs: SubjectRun[] = [];
  for (const subject of subjects) runs.push(await SubjectRun.start(subject, load));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const run of runs) await run.drive(Math.ceil(load.turns / ROUNDS));
  }
  return runs.map((run) => run.result());
}

/** The loads before anything is measured: V8 compiles what a load needs only when it comes, and again at another one. */
const WARM_UP: readonly Omit<Load, 'script'>[] = [
  { concurrency: 16, turns: 4_000 },
  { concurrency: 64, turns: 4_000 },
];

/** Drives simple turns at each subject until its code is compiled for few turns at once and for many. */
export async function warmUp(subjects: readonly Subject[], times: (count: number) => number): Promise<void> {
  for (const { concurrency, turns } of WARM_UP)
    await measureLoads(subjects, { concurrency, turns: times(turns), script: simpleTurn() });
}

/** One subject's share of a load. */
class SubjectRun {
  private readonly times: StreamTimes[] = [];
  private readonly cpuMs = new Map<string, number>();
  private elapsedMs = 0;

  private constructor(
    private readonly subject: Subject,
    private readonly load: Load,
    private readonly places: string[],
  ) {}

  static async start(subject: Subject, load: Load): Promise<SubjectRun> {
    const warmUp = Math.min(load.turns, load.concurrency * 2);
    const places = await subject.target.prepare(warmUp + load.turns + ROUNDS);
    const run = new SubjectRun(subject, load, [...places]);
    await run.turns(warmUp);
    return run;
  }

  async drive(turns: number): Promise<void> {
    const readMeter = cpuMeter(this.subject.pids);
    const startedMs = performance.now();
    this.times.push(...(await this.turns(turns)));
    this.elapsedMs += performance.now() - startedMs;
    for (const [name, ms] of Object.entries(readMeter())) this.cpuMs.set(name, (this.cpuMs.get(name) ?? 0) + ms);
  }

  private turns(count: number): Promise<StreamTimes[]> {
    const { target } = this.subject;
    return inParallel(count, this.load.concurrency, async () => {
      const times = await target.turn(this.places.pop() ?? '', this.load.script);
      if (times.tokens !== SIMPLE_TOKENS) throw new Error(`${target.name}: ${times.tokens} of ${SIMPLE_TOKENS} tokens`);
      return times;
    });
  }

  result(): LoadResult {
    const turns = this.times.length;
    return {
      name: this.subject.target.name,
      concurrency: this.load.concurrency,
      cpu: Object.fromEntries([...this.cpuMs].map(([name, ms]) => [name, ms / turns])),
      turnsPerSecond: (turns * 1000) / this.elapsedMs,
      firstTokenMs: spread(this.times.map((time) => time.firstTokenMs)),
      totalMs: spread(this.times.map((time) => time.totalMs)),
    };
  }
}

const spread = (values: readonly number[]) => ({ p50: median(values), p99: quantile(values, 0.99) });

/** Alternates turn by turn, so that other work of the machine affects both alike. */
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

/** Streams that send tokens at a steady pace. */
export interface PacedStreams {
  readonly streams: number;
  /** The tokens of each stream, and the milliseconds between two of them. */
  readonly tokens: number;
  readonly everyMs: number;
}

/** Streams begin one after the other: 50 turns that start in the same millisecond would measure the starts. */
const START_EVERY_MS = 20;
/** Time after the last start before delays count. */
const SETTLE_MS = 500;

/** Measures the delays of tokens from the model to the reader, in milliseconds, while all streams are open. */
export async function measureTokenDelays(target: Target, load: PacedStreams): Promise<readonly number[]> {
  const places = await target.prepare(load.streams);
  return delaysWhileAllOpen(await openStreams(target, places, stampedTurn(load)), load);
}

/** The script of a turn whose tokens are the moments at which they were sent. */
export const stampedTurn = ({ tokens, everyMs }: PacedStreams): string => `#stamps ${tokens} ${everyMs}`;

/** Runs one turn on each of the threads; they begin one after the other and are open together. */
export const openStreams = (target: Target, places: readonly string[], script: string): Promise<StreamTimes[]> =>
  inParallel(places.length, places.length, async (index) => {
    await sleep(index * START_EVERY_MS);
    return target.turn(places[index] ?? '', script);
  });

/** The delays of those tokens that the model sent while all streams were open. */
export function delaysWhileAllOpen(times: readonly StreamTimes[], load: PacedStreams): readonly number[] {
  const { streams, tokens, everyMs } = load;
  const allOpenMs = (streams - 1) * START_EVERY_MS + SETTLE_MS;
  const firstOverMs = tokens * everyMs;
  return times.flatMap(({ tokenDelaysMs }, index) =>
    tokenDelaysMs.filter((_, token) => {
      const sentMs = index * START_EVERY_MS + token * everyMs;
      return sentMs >= allOpenMs && sentMs < firstOverMs;
    }),
  );
}

import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { type Options, readOptions } from './options.js';
import { SeedPool } from './seed-pool.js';
import type { HistoryReport } from './simulate.js';

const MAX_SHOWN = 20;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function show({ seed, violations, faults, trace }: HistoryReport, options: Options): void {
  for (const line of trace) say(line);
  if (violations.length === 0) return;
  say(`seed ${seed} (${faults.join(', ')}):`);
  for (const violation of violations.slice(0, MAX_SHOWN)) say(`  ${violation}`);
  const sabotage = options.sabotage === undefined ? '' : ` --sabotage ${options.sabotage}`;
  say(`  npm run simulate -- --seed ${seed} --faults ${options.allowed.join(',')}${sabotage} --trace`);
}

/** The summary of all histories of a command. */
class Totals {
  private readonly points = new Set<string>();
  private readonly killedAt = new Set<string>();
  private readonly counts = { steps: 0, kills: 0, takeovers: 0, slots: 0, repeats: 0 };
  private readonly digest = createHash('sha256');
  readonly failed: number[] = [];
  private seeds = 0;

  add({ seed, violations, points, killedAt, digest, ...report }: HistoryReport): void {
    this.seeds += 1;
    if (violations.length > 0) this.failed.push(seed);
    for (const point of points) this.points.add(point);
    for (const point of killedAt) this.killedAt.add(point);
    this.counts.steps += report.steps;
    this.counts.kills += report.kills;
    this.counts.takeovers += report.takeovers;
    this.counts.slots += report.slots;
    this.counts.repeats += report.repeats;
    this.digest.update(digest);
  }

  summary(seconds: number): object {
    const { seeds } = this;
    return {
      seeds,
      seconds: Math.round(10 * seconds) / 10,
      seedsPerMinute: Math.round((60 * seeds) / seconds),
      ...this.counts,
      killPoints: this.points.size,
      killedAt: this.killedAt.size,
      failed: this.failed,
      digest: this.digest.digest('hex'),
    };
  }
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const began = performance.now();
  const pool = new SeedPool(options.workers ?? availableParallelism(), options, args);
  const totals = new Totals();
  try {
    for await (const report of pool.reports()) {
      show(report, options);
      totals.add(report);
      if (options.untilFailure && totals.failed.length > 0) break;
    }
  } finally {
    pool.close();
  }
  say(`simulated: ${JSON.stringify(totals.summary((performance.now() - began) / 1000))}`);
  return totals.failed.length === 0 ? 0 : 1;
}

/** The same program simulates, as a child of itself: only then the product is loaded. */
async function work(args: readonly string[]): Promise<number> {
  const { serveSeeds } = await import('./seed-worker.js');
  await serveSeeds(readOptions(args));
  return 0;
}

const [, , role, ...rest] = process.argv;
const ended = role === '--worker' ? work(rest) : main(process.argv.slice(2));
ended.then(
  (code) => (process.exitCode ??= code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  },
);

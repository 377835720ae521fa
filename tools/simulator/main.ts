import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind } from './faults.js';
import { type HistoryReport, simulate } from './simulate.js';
import { installVirtualGlobals } from './virtual-globals.js';
import { VirtualRedis } from './virtual-redis.js';

const USAGE = `npm run simulate -- [--seeds N] [--seed S] [--faults ${FAULT_KINDS.join(',')}] [--trace] [--sabotage]`;
const MAX_SHOWN = 20;

interface Arguments {
  readonly first: number;
  readonly count: number;
  readonly allowed: readonly FaultKind[];
  readonly tracing: boolean;
  /** See `World`. */
  readonly sabotage: boolean;
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      faults: { type: 'string', default: FAULT_KINDS.join(',') },
      trace: { type: 'boolean', default: false },
      sabotage: { type: 'boolean', default: false },
    },
  });
  const allowed = values.faults.split(',').map((name) => {
    const kind = FAULT_KINDS.find((known) => known === name);
    if (kind === undefined) throw new Error(`--faults: '${name}' is none of ${FAULT_KINDS.join(', ')}`);
    return kind;
  });
  const [first, count] = [Number(values.seed), Number(values.seeds)];
  if (!Number.isInteger(first) || !Number.isInteger(count) || count < 1) throw new Error(USAGE);
  return { first, count, allowed, tracing: values.trace, sabotage: values.sabotage };
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function show({ seed, violations, faults, trace }: HistoryReport, options: Arguments): void {
  for (const line of trace) say(line);
  if (violations.length === 0) return;
  say(`seed ${seed} (${faults.join(', ')}):`);
  for (const violation of violations.slice(0, MAX_SHOWN)) say(`  ${violation}`);
  const sabotage = options.sabotage ? ' --sabotage' : '';
  say(`  npm run simulate -- --seed ${seed} --faults ${options.allowed.join(',')}${sabotage} --trace`);
}

async function main(): Promise<number> {
  const options = readArguments();
  installVirtualGlobals();
  const redis = await VirtualRedis.start();
  const began = performance.now();
  const points = new Set<string>();
  const killedAt = new Set<string>();
  const totals = { steps: 0, kills: 0, takeovers: 0 };
  const failed: number[] = [];
  const digests: string[] = [];
  try {
    for (let seed = options.first; seed < options.first + options.count; seed += 1) {
      const report = await simulate(seed, redis, options);
      show(report, options);
      if (report.violations.length > 0) failed.push(seed);
      for (const point of report.points) points.add(point);
      for (const point of report.killedAt) killedAt.add(point);
      totals.steps += report.steps;
      totals.kills += report.kills;
      totals.takeovers += report.takeovers;
      digests.push(report.digest);
    }
  } finally {
    redis.stop();
  }
  const seconds = (performance.now() - began) / 1000;
  const summary = {
    ...{ seeds: options.count, seedsPerMinute: Math.round((60 * options.count) / seconds), ...totals },
    ...{ killPoints: points.size, killedAt: killedAt.size, failed, digest: digests.join('').slice(-64) },
  };
  say(`simulated: ${JSON.stringify(summary)}`);
  return failed.length === 0 ? 0 : 1;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  },
);

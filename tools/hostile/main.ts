import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Fleet, startFleet } from '../bench/fleet.js';
import { median, quantile } from '../bench/sample.js';
import { serverFigures } from '../bench/server-figures.js';
import type { Tally } from './attacks.js';
import { type Client, clientOf, newThread } from './client.js';

const USAGE = `npm run hostile -- [--minutes 5] [--alone-seconds 60] [--lanes 2] [--max-gateway-mb 1024] [--max-redis-mb 2048]
Starts the product, measures turns of one user alone and then together with a hostile one; exits with 1 when their p99 is more
than twice what it is alone, a turn fails, or memory passes its bound.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    'alone-seconds': { type: 'string', default: '60' },
    lanes: { type: 'string', default: '2' },
    'max-gateway-mb': { type: 'string', default: '1024' },
    'max-redis-mb': { type: 'string', default: '2048' },
    help: { type: 'boolean', default: false },
  },
});

const KEYS = { good: 'good-user-key', bad: 'hostile-user-key' };
const MB = 1024 * 1024;
const SCRIPT = '#tokens 20';
/** A user's pause between two turns. */
const PAUSE_MS = 200;

interface Turns {
  readonly times: readonly number[];
  /** When each of them began, in ms after the first. */
  readonly begins: readonly number[];
  readonly failures: readonly string[];
}

/** Runs turns one after the other for so long, ten on each thread. */
async function turnsFor(client: Client, durationMs: number): Promise<Turns> {
  const times: number[] = [];
  const begins: number[] = [];
  const failures: string[] = [];
  const firstMs = performance.now();
  const endMs = firstMs + durationMs;
  let threadId = '';
  for (let turn = 0; performance.now() < endMs; turn += 1) {
    if (turn % 10 === 0) threadId = await newThread(client);
    const startMs = performance.now();
    const body = {
      assistant_id: 'lead_agent',
      input: { messages: [{ role: 'user', content: SCRIPT }] },
      stream_mode: ['messages-tuple'],
    };
    const { status, text } = await client.ask('POST', `/threads/${threadId}/runs/stream`, body);
    if (status === 200 && text.includes('event: end')) {
      times.push(performance.now() - startMs);
      begins.push(startMs - firstMs);
    } else failures.push(`${status} ${text.slice(-200)}`);
    await sleep(PAUSE_MS);
  }
  return { times, begins, failures };
}

/** Highest values seen, in bytes. */
interface Peaks {
  gateway: number;
  redis: number;
}

async function watchMemory(fleet: Fleet, signal: AbortSignal): Promise<Peaks> {
  const figures = serverFigures(fleet);
  const peaks: Peaks = { gateway: 0, redis: 0 };
  try {
    while (!signal.aborted) {
      peaks.gateway = Math.max(peaks.gateway, await residentBytes(fleet.services['gateway']));
      peaks.redis = Math.max(peaks.redis, await figures.redisMemoryBytes().catch(reportUnanswered));
      await sleep(250);
    }
  } finally {
    await figures.close();
  }
  return peaks;
}

/** Redis has 3 seconds to answer; one that does not is noticed by the turns. */
function reportUnanswered(error: unknown): number {
  say(`Redis did not say how much memory it uses: ${error instanceof Error ? error.message : String(error)}`);
  return 0;
}

async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const ms = (value: number): string => `${value.toFixed(0)} ms`;
const mb = (bytes: number): string => `${(bytes / MB).toFixed(0)} MB`;
const p99 = ({ times }: Turns): number => quantile(times, 0.99);

function sayTurns(name: string, turns: Turns): void {
  const { times, begins, failures } = turns;
  say(`${name}: ${times.length} turns, p50 ${ms(median(times))}, p99 ${ms(p99(turns))}, ${failures.length} failed`);
  const slowest = times.map((time, at) => ({ time, atMs: begins[at] ?? 0 })).sort((a, b) => b.time - a.time);
  const shown = slowest.slice(0, 5).map(({ time, atMs }) => `${ms(time)} at ${(atMs / 1_000).toFixed(1)} s`);
  say(`  slowest: ${shown.join(', ')}`);
  for (const failure of failures.slice(0, 3)) say(`  failed: ${failure}`);
}

function sayTally(tally: Tally): void {
  for (const [name, statuses] of tally) {
    const counts = statuses.map(([status, count]) => `${status === 0 ? 'broken off' : status}: ${count}`);
    say(`  ${name}: ${counts.join(', ')}`);
  }
}

async function measure(fleet: Fleet): Promise<readonly string[]> {
  const good = clientOf(fleet.apiUrl, KEYS.good);
  await turnsFor(good, 5_000);
  const alone = await turnsFor(good, Number(values['alone-seconds']) * 1_000);
  sayTurns('alone', alone);
  const over = new AbortController();
  const attacker = fork(join(__dirname, 'attacker.js'), [fleet.apiUrl, KEYS.bad, values.lanes]);
  const memory = watchMemory(fleet, over.signal);
  const underAttack = await turnsFor(good, Number(values.minutes) * 60_000);
  over.abort();
  attacker.send('stop');
  const [[tally], peaks] = await Promise.all([once(attacker, 'message') as Promise<[Tally]>, memory]);
  sayTurns('with a hostile user', underAttack);
  sayTally(tally);
  say(`memory: gateway at most ${mb(peaks.gateway)}, Redis at most ${mb(peaks.redis)}`);
  return faultsOf({ alone, underAttack, peaks });
}

function faultsOf({
  alone,
  underAttack,
  peaks,
}: {
  readonly alone: Turns;
  readonly underAttack: Turns;
  readonly peaks: Peaks;
}): string[] {
  const faults: string[] = [];
  if (alone.times.length === 0 || underAttack.times.length === 0) faults.push('no turn was measured');
  if (underAttack.failures.length > 0)
    faults.push(`${underAttack.failures.length} turns failed under a hostile user's load`);
  if (p99(underAttack) > 2 * p99(alone))
    faults.push(`p99 is ${(p99(underAttack) / p99(alone)).toFixed(1)} times what it is alone`);
  if (peaks.gateway > Number(values['max-gateway-mb']) * MB) faults.push('the gateway passed its bound of memory');
  if (peaks.redis > Number(values['max-redis-mb']) * MB) faults.push('Redis passed its bound of memory');
  return faults;
}

async function main(): Promise<void> {
  if (values.help) {
    say(USAGE);
    return;
  }
  const env = { CARIBOU_API_KEYS: `${KEYS.good}:good,${KEYS.bad}:hostile` };
  const fleet = await startFleet({ env, unlimited: false });
  try {
    const faults = await measure(fleet);
    for (const fault of faults) say(`FAILED: ${fault}`);
    if (faults.length === 0) say('passed');
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    await fleet.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(2);
});

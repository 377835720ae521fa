import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../bench.js';
import { type Fleet, startFleet } from '../fleet.js';
import { TurnLoad, type AcceptedRun } from '../outage/turn-load.js';
import type { RunningProcess } from '../processes.js';
import { type Budget, say } from '../report.js';
import { newThread, streamRun } from '../turns.js';

const LANES = 24;
const TOKENS = 60;
const PACE_MS = 50;
const TASK_LANES = 4;
const DRAIN_MS = 60_000;
const METRICS_MS = 10_000;
/** Services that hold leases; each is started twice. */
const OWNERS = ['agent-runner', 'subagent-pool', 'sandbox-manager', 'memory-worker'] as const;

/** A task of a subagent that runs a command. */
const TASK_PROMPT = `#tool bash ${JSON.stringify({ description: 'a bench', command: 'sleep 1; echo ran' })}\n#say on`;
const TASK = { description: 'a bench', prompt: TASK_PROMPT, subagent_type: 'general-purpose' };
const TASK_TURN = `#tool task ${JSON.stringify(TASK)}\n#say on`;

/** Keeps a processor busy for as long as its parent lives, which may be killed. */
const SPIN =
  'const parent = process.ppid; while (process.ppid === parent) for (let index = 0; index < 1e7; index += 1) continue;';

/** Counters of Prometheus that say that a process lost work that it had not given up. */
const LOST = ['caribou_run_takeovers_total', 'caribou_fenced_writes_total'];

/**
 * Turns, commands and tasks while all processors of the machine are busy: no process that lives may lose its work to
 * another one.
 *
 * @param minutes how long the load lasts
 */
export const busyMachine =
  (minutes: number): Part =>
  async () => {
    const fleet = await startFleet({
      runnerSlots: 64,
      config: 'memory: {debounce_seconds: 5}\nsubagents:\n  slots: 8\n',
    });
    const spinners: ChildProcess[] = [];
    try {
      const owners = await startOwners(fleet);
      for (let index = 0; index < availableParallelism(); index += 1)
        spinners.push(spawn(process.execPath, ['-e', SPIN], { stdio: 'ignore' }));
      const busyShare = processorMeter();
      const [runs, tasks] = await drive(fleet, minutes);
      return report({ minutes, runs, tasks, busyShare: busyShare(), lost: await lostWork(owners) });
    } finally {
      for (const spinner of spinners) spinner.kill('SIGKILL');
      await fleet.stop();
    }
  };

async function startOwners(fleet: Fleet): Promise<readonly RunningProcess[]> {
  const owners: RunningProcess[] = [];
  for (const service of OWNERS) owners.push(fleet.process(service), await fleet.start(service));
  return owners;
}

async function drive(fleet: Fleet, minutes: number): Promise<readonly [runs: readonly AcceptedRun[], tasks: number]> {
  const { apiUrl } = fleet;
  const load = new TurnLoad({
    ...{ apiUrl, lanes: LANES, tokens: TOKENS, paceMs: PACE_MS, toolEvery: 4, drainMs: DRAIN_MS },
  });
  const endMs = performance.now() + minutes * 60_000;
  await load.start();
  const lanes = Array.from({ length: TASK_LANES }, async () => {
    let count = 0;
    for (; performance.now() < endMs; count += 1)
      await streamRun(`${apiUrl}/threads/${await newThread(apiUrl)}`, TASK_TURN, {
        context: { subagent_enabled: true, max_concurrent_subagents: 1 },
      });
    return count;
  });
  const counts = Promise.all(lanes);
  // A lane that fails ends the part at once instead of after the last minute.
  await Promise.race([sleep(endMs - performance.now()), counts.then(() => sleep(endMs - performance.now()))]);
  const runs = await load.stop();
  return [runs, (await counts).reduce((sum, count) => sum + count, 0)];
}

/** What processes counted as lost, by counter; those that are 0 are left out. */
async function lostWork(owners: readonly RunningProcess[]): Promise<Readonly<Record<string, number>>> {
  const lost: Record<string, number> = {};
  for (const { port } of owners) {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(METRICS_MS) });
    const text = await response.text();
    for (const name of LOST) {
      const value = Number(new RegExp(`^${name}\\{[^}]*\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
      if (value > 0) lost[name] = (lost[name] ?? 0) + value;
    }
  }
  return lost;
}

/** Returns a function that tells which share of the machine's processor time was used since. Linux only. */
function processorMeter(): () => number {
  const read = (): { readonly idle: number; readonly all: number } => {
    const ticks = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/ +/).slice(1).map(Number);
    const all = ticks.slice(0, 8).reduce((sum, count) => sum + count, 0);
    return { idle: (ticks[3] ?? 0) + (ticks[4] ?? 0), all };
  };
  const before = read();
  return () => {
    const now = read();
    return 1 - (now.idle - before.idle) / Math.max(1, now.all - before.all);
  };
}

interface Figures {
  readonly minutes: number;
  readonly runs: readonly AcceptedRun[];
  readonly tasks: number;
  readonly busyShare: number;
  readonly lost: Readonly<Record<string, number>>;
}

function report({ minutes, runs, tasks, busyShare, lost }: Figures): readonly Budget[] {
  const failed = runs.filter(({ status }) => status !== 'success').length;
  const attempts = runs.filter(({ seen }) => seen.attempt > 1).length;
  const counters = Object.entries(lost).map(([name, count]) => `, ${name} ${count}`);
  say();
  say(
    `${minutes} minutes on a machine whose processors are ${(busyShare * 100).toFixed(0)} % busy: ${runs.length} turns, ` +
      `${tasks} tasks; ${failed} turns failed, ${attempts} were taken over${counters.join('')}`,
  );
  const lostCount = Object.values(lost).reduce((sum, count) => sum + count, attempts);
  return [
    { what: 'work taken from living processes', value: lostCount, unit: '', atMost: 0 },
    { what: 'turns that failed on a busy machine', value: failed, unit: '', atMost: 0 },
  ];
}

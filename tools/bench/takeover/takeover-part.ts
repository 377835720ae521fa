import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { type Fleet, startFleet } from '../fleet.js';
import { type Budget, say } from '../report.js';
import { inParallel, median, quantile } from '../sample.js';
import type { RunningProcess } from '../processes.js';
import { newThread, streamRun } from '../turns.js';
import { managerTakeover } from './manager-takeover.js';
import { memoryTakeover } from './memory-takeover.js';
import { releaseCalls, waitingCalls } from './model-control.js';
import { until } from '../parts/until.js';

/** Runs that the two processes of a kind work on when one of them is killed. */
const RUNS = 8;
/** Survivors tell that others are dead once they have lived for the time of a lease. */
const SETTLE_MS = 4_000;
/** Far below a lease, far above the time in which closed connections are seen. */
const CLOSED_MS = 500;

/** Work that waits for the model until the process that does it is killed; the next attempt is answered at once. */
const WORK: Readonly<Record<'agent-runner' | 'subagent-pool', (mark: string) => string>> = {
  'agent-runner': (mark) => `${mark}\n#hold model before times=1\n#say on`,
  'subagent-pool': (mark) => {
    const prompt = `${mark}\n#hold model before times=1\n#say on`;
    const task = { description: 'a bench', prompt, subagent_type: 'general-purpose' };
    return `#tool task ${JSON.stringify(task)}\n#say on`;
  },
};

type Killed = keyof typeof WORK;

/**
 * kill -9 of runners, pools, sandbox-managers and memory-workers with work. For runners and pools: from the kill until each run of the
 * dead process has ended in another one, which is its takeover and one answer of the model.
 */
export async function takeover({ times }: Bench): Promise<readonly Budget[]> {
  const kills = Math.max(2, Math.round(times(100) / 2));
  const fleet = await startFleet({ config: 'subagents:\n  slots: 16\n' });
  const budgets: Budget[] = [];
  say();
  try {
    for (const service of ['agent-runner', 'subagent-pool'] as const) {
      const { ms, killed } = await killRepeatedly(fleet, service, kills);
      const p99 = quantile(ms, 0.99);
      say(
        `${killed} times kill -9 of ${service}, ${ms.length} runs of dead processes: ` +
          `ended after p50 ${median(ms).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, at most ${Math.max(...ms).toFixed(0)} ms`,
      );
      budgets.push({ what: `work of a killed ${service}, p99`, value: p99 / 1_000, unit: 's', atMost: 5 });
    }
  } finally {
    await fleet.stop();
  }
  budgets.push(...(await managerTakeover(kills)), ...(await memoryTakeover(kills)));
  return budgets;
}

async function killRepeatedly(
  fleet: Fleet,
  service: Killed,
  kills: number,
): Promise<{ readonly ms: readonly number[]; readonly killed: number }> {
  const ms: number[] = [];
  let killed = 0;
  let victim = fleet.process(service);
  let survivor = await fleet.start(service);
  for (; killed < kills; killed += 1) {
    await sleep(SETTLE_MS);
    ms.push(...(await killOnce(fleet, service, victim)));
    victim = survivor;
    survivor = await fleet.start(service);
  }
  return { ms, killed };
}

/** Returns how long after the kill each run of the victim ended; the others end when the model is released. */
async function killOnce(fleet: Fleet, service: Killed, victim: RunningProcess): Promise<readonly number[]> {
  const marks = Array.from({ length: RUNS }, () => randomUUID());
  const ended = new Map<string, number>();
  const context = service === 'subagent-pool' ? { subagent_enabled: true, max_concurrent_subagents: 1 } : {};
  const all = inParallel(RUNS, RUNS, async (index) => {
    const mark = marks[index] ?? '';
    await streamRun(`${fleet.apiUrl}/threads/${await newThread(fleet.apiUrl)}`, WORK[service](mark), { context });
    ended.set(mark, performance.now());
  });
  await untilModel(fleet, (waiting) => waiting === RUNS);
  const killedMs = performance.now();
  await victim.kill();
  // The model sees that the connections of the dead process are closed: its calls wait no longer.
  await sleep(CLOSED_MS);
  const orphans = RUNS - (await waitingCalls(fleet));
  await until(() => ended.size >= orphans, 'the runs of the dead process');
  const ms = [...ended.values()].map((atMs) => atMs - killedMs);
  await releaseCalls(fleet);
  await all;
  return ms;
}

async function untilModel(fleet: Fleet, isReached: (waiting: number) => boolean): Promise<void> {
  await until(async () => isReached(await waitingCalls(fleet)), 'the calls of the model');
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Fleet, startFleet } from '../fleet.js';
import { type Budget, say } from '../report.js';
import { inParallel, median, quantile } from '../sample.js';
import type { RunningProcess } from '../processes.js';
import { newThread, streamRun } from '../turns.js';
import { until } from '../parts/until.js';

/** Runs whose commands the killed manager executes. */
const RUNS = 8;
const STARTED = 'started';

/** A command that outlasts the kill; the run then ends with the next answer of the model. */
const COMMAND = { description: 'a bench', command: `touch ${STARTED}; sleep 120` };
const WORK = `#tool bash ${JSON.stringify(COMMAND)}\n#say on`;

/**
 * kill -9 of a sandbox-manager with commands, while another one of the machine is there: from the kill until each run
 * has ended, which takes the outcome of the lost command from the other manager and one answer of the model.
 */
export async function managerTakeover(kills: number): Promise<readonly Budget[]> {
  const fleet = await startFleet();
  const ms: number[] = [];
  try {
    let victim = fleet.process('sandbox-manager');
    for (let killed = 0; killed < kills; killed += 1) {
      const ended = await beginRuns(fleet);
      const survivor = await fleet.start('sandbox-manager');
      ms.push(...(await killAndWait(victim, ended)));
      victim = survivor;
    }
  } finally {
    await fleet.stop();
  }
  const p99 = quantile(ms, 0.99);
  say(
    `${kills} times kill -9 of sandbox-manager, ${ms.length} runs with a command of a dead process: ` +
      `ended after p50 ${median(ms).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, at most ${Math.max(...ms).toFixed(0)} ms`,
  );
  return [{ what: 'runs of a killed sandbox-manager, p99', value: p99 / 1_000, unit: 's', atMost: 5 }];
}

/** Starts the runs and waits for their commands; resolves with the times at which the runs end. */
async function beginRuns(fleet: Fleet): Promise<{ readonly all: Promise<readonly number[]> }> {
  const threads = await inParallel(RUNS, RUNS, () => newThread(fleet.apiUrl));
  const all = inParallel(RUNS, RUNS, async (index) => {
    await streamRun(`${fleet.apiUrl}/threads/${threads[index] ?? ''}`, WORK);
    return performance.now();
  });
  const files = threads.map((thread) =>
    join(fleet.homeDir, 'users/default/threads', thread, 'user-data/workspace', STARTED),
  );
  await until(() => files.every((file) => existsSync(file)), 'the commands of the runs');
  return { all };
}

async function killAndWait(
  victim: RunningProcess,
  { all }: { readonly all: Promise<readonly number[]> },
): Promise<readonly number[]> {
  const killedMs = performance.now();
  await victim.kill();
  return (await all).map((endedMs) => endedMs - killedMs);
}

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProcessPlan, type RunningProcess, startProcess } from './processes.js';

/** Processes that end together, and a folder for their files. */
export interface ProcessGroup {
  readonly folder: string;
  readonly start: (plan: Omit<ProcessPlan, 'logFile'>) => Promise<RunningProcess>;
  /** Stops all of them, the last one first, and removes the folder. */
  readonly stop: () => Promise<void>;
}

/** Creates the folder; processes are started in it one by one. */
export async function openProcessGroup(): Promise<ProcessGroup> {
  const folder = await mkdtemp(join(tmpdir(), 'caribou-bench-'));
  // Commands run as another user, which needs to traverse the folder.
  await chmod(folder, 0o711);
  const running: RunningProcess[] = [];
  return {
    folder,
    start: async (plan) => {
      const started = await startProcess({ ...plan, logFile: join(folder, `${plan.name}.log`) });
      running.push(started);
      return started;
    },
    stop: async () => {
      for (const started of running.reverse()) await started.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

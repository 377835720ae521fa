import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../util/wait-for.js';

const ROOT = '/sys/fs/cgroup';
/** As a kubelet's podPidsLimit. */
const POD_PROCESSES = 1_024;

/** The bounds of a pod as the kernel holds them. */
export interface PodCgroups {
  /** Files to which the pod's first process writes its own id. */
  readonly entrances: readonly string[];
  /** Whether a process was killed for want of memory. */
  wasOutOfMemory(): boolean;
  /** Kills every process of the pod; a process that is forked meanwhile as well. */
  killAll(): Promise<void>;
  /** Removes the groups of a pod that has ended. */
  remove(): void;
}

const isUnified = (): boolean => existsSync(join(ROOT, 'cgroup.controllers'));

/** Makes the groups of a pod, in cgroup v1 or v2. @throws a system error where this machine does not allow it */
export function createPodCgroups(name: string, memoryBytes: number): PodCgroups {
  return isUnified() ? unified(name, memoryBytes) : separate(name, memoryBytes);
}

function unified(name: string, memoryBytes: number): PodCgroups {
  const folder = join(ROOT, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'memory.max'), String(memoryBytes));
  writeFileSync(join(folder, 'pids.max'), String(POD_PROCESSES));
  writeFileSync(join(folder, 'memory.oom.group'), '1');
  return {
    entrances: [join(folder, 'cgroup.procs')],
    wasOutOfMemory: () => /^oom_group_kill [1-9]/m.test(readFileSync(join(folder, 'memory.events'), 'utf8')),
    killAll: () => killGroup(folder),
    remove: () => removeGroup(folder),
  };
}

/** The kernel ends single processes of a group here, never all of them. */
function separate(name: string, memoryBytes: number): PodCgroups {
  const [memory, pids] = [join(ROOT, 'memory', name), join(ROOT, 'pids', name)];
  mkdirSync(memory);
  mkdirSync(pids);
  writeFileSync(join(memory, 'memory.limit_in_bytes'), String(memoryBytes));
  writeFileSync(join(pids, 'pids.max'), String(POD_PROCESSES));
  return {
    entrances: [join(memory, 'cgroup.procs'), join(pids, 'cgroup.procs')],
    wasOutOfMemory: () => false,
    killAll: () => killGroup(pids),
    remove: () => {
      removeGroup(memory);
      removeGroup(pids);
    },
  };
}

async function killGroup(folder: string): Promise<void> {
  await waitFor(() => signalAll(folder) === 0, { what: `the end of ${folder}`, everyMs: 5, timeoutMs: 30_000 });
}

/** Kills the processes of a group; how many there were. */
function signalAll(folder: string): number {
  const pids = readFileSync(join(folder, 'cgroup.procs'), 'utf8')
    .split('\n')
    .filter((pid) => pid !== '');
  for (const pid of pids) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
  return pids.length;
}

/** The kernel needs a moment after the last process of a group. */
function removeGroup(folder: string, attempts = 50): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    const isBusy = error instanceof Error && 'code' in error && error.code === 'EBUSY';
    if (!isBusy || attempts === 0) throw error;
    setTimeout(() => removeGroup(folder, attempts - 1), 20).unref();
  }
}

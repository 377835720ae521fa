import type { HostConfig } from 'dockerode';
import type { SandboxSettings } from './settings.js';

/** What is different for boxes that have gVisor's kernel in the place of the machine's. */

interface ProcessBounds {
  readonly PidsLimit: number;
  readonly Ulimits: NonNullable<HostConfig['Ulimits']>;
}
type RuntimeSettings = Pick<SandboxSettings, 'runtime' | 'limits'>;

/** A box takes this many processes of a user beyond its limit: whoever ends the others must get in. */
const SPARE_PROCESSES = 16;

/** Threads of the machine that gVisor's kernel takes for itself, and at most for each process in the box. */
const KERNEL_THREADS = 512;
const THREADS_OF_PROCESS = 4;

/** How long a box may take to end by itself, in seconds. */
const STOP_SECONDS = 5;

/** Known by the runtime's name: `runsc`, or one that begins with it. */
const isGvisor = ({ runtime }: Pick<SandboxSettings, 'runtime'>): boolean => runtime?.startsWith('runsc') === true;

/**
 * The engine's bounds on the processes of a box. gVisor's kernel is made of the machine's threads and dies when it is
 * refused one: the engine's limit is there to protect the machine, and the processes in the box are bounded for each of
 * its users. On the machine's kernel that would count all boxes together.
 */
export function processBounds(settings: RuntimeSettings): ProcessBounds {
  const { pids } = settings.limits;
  if (!isGvisor(settings)) return { PidsLimit: pids, Ulimits: [] };
  const most = pids + SPARE_PROCESSES;
  return {
    PidsLimit: KERNEL_THREADS + THREADS_OF_PROCESS * most,
    Ulimits: [{ Name: 'nproc', Soft: most, Hard: most }],
  };
}

/** How many processes a command may have where its shell has to see to it; undefined where the engine does. */
export const processesOfCommand = (settings: RuntimeSettings): number | undefined =>
  isGvisor(settings) ? settings.limits.pids : undefined;

/**
 * How long a box is asked to end by itself before it is killed, in seconds. Killed in the middle, gVisor's kernel leaves
 * dozens of processes to containerd's shim while the shim is still busy with the kill, and it then takes a second for each
 * of them: the engine does not answer meanwhile.
 */
export const stopSeconds = (settings: RuntimeSettings): number => (isGvisor(settings) ? STOP_SECONDS : 0);

/** What a command ends with when gVisor's kernel has died under it: out of memory, or refused a thread. */
export const lostExitCode = (settings: RuntimeSettings): number | undefined => (isGvisor(settings) ? 128 : undefined);

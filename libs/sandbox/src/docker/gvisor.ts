import type { HostConfig } from 'dockerode';
import type { SandboxSettings } from '../drivers/settings.js';

/** The differences of sandboxes with gVisor's kernel instead of the machine's. */

interface ProcessBounds {
  readonly PidsLimit: number;
  readonly Ulimits: NonNullable<HostConfig['Ulimits']>;
}

export type RuntimeSettings = Pick<SandboxSettings, 'runtime' | 'limits'>;

/** A sandbox takes this many processes of a user beyond its limit: the killer must be able to start. */
const SPARE_PROCESSES = 16;

/** Threads of the machine that gVisor's kernel takes for itself, whatever runs in the sandbox. */
const KERNEL_THREADS = 64;
/**
 * Most threads of the machine for one sandbox: half of the process ids that Linux gives out unless it is configured.
 */
const MOST_THREADS = 16_384;

/**
 * Memory that gVisor's kernel takes for itself, in bytes, whatever runs in the sandbox: measured, 16 MB at its start,
 * 156 MB after some thousand processes, 53 MB more for the threads of a fork bomb.
 */
const KERNEL_BYTES = 256 * 1024 * 1024;

/** How long a sandbox may take to end by itself, in seconds. */
const STOP_SECONDS = 5;
/** The time that containerd's shim may need for each process of a sandbox that has died. */
const SHIM_MS_OF_PROCESS = 1000;
/** A kill from inside takes an exec of the runtime: milliseconds, and on a busy machine 2 s with gVisor. */
const INSIDE_KILL_MS = 2000;
const GVISOR_INSIDE_KILL_MS = 6000;
/**
 * The engine itself waits 10 s for a kill before it does it another way, and then starts the sandbox. Less than that
 * together, on a machine that is busy with what is to be ended, is no sign of an engine that is away.
 */
const OUTSIDE_KILL_MS = 60_000;

/** Whether the runtime is gVisor: its name is `runsc`, or begins with it. */
const isGvisor = ({ runtime }: Pick<SandboxSettings, 'runtime'>): boolean => runtime?.startsWith('runsc') === true;

/**
 * The engine's bounds on the processes of a sandbox. gVisor's kernel is made of the machine's threads and dies when it
 * is refused one: the engine's limit is there to protect the machine, and the processes in the sandbox are bounded for
 * each of its users. On the machine's kernel that would count all sandboxes together. The platform `ptrace` takes a
 * thread of the kernel for each process, and in time one more for each pair of a process and a thread of the kernel
 * that has run it.
 */
export function processBounds(settings: RuntimeSettings): ProcessBounds {
  const { pids } = settings.limits;
  if (!isGvisor(settings)) return { PidsLimit: pids, Ulimits: [] };
  const most = pids + SPARE_PROCESSES;
  return {
    PidsLimit: Math.min(MOST_THREADS, most * (most + KERNEL_THREADS)),
    Ulimits: [{ Name: 'nproc', Soft: most, Hard: most }],
  };
}

/**
 * The engine's bound on the memory of a sandbox, in bytes. It counts gVisor's kernel too, which is not taken from what
 * commands may have: a long session or a fork bomb would end the sandbox otherwise.
 */
export const memoryBound = (settings: RuntimeSettings): number =>
  settings.limits.memoryBytes + (isGvisor(settings) ? KERNEL_BYTES : 0);

/** The limit of processes that a command's shell has to set; undefined where the engine sets it. */
export const processesOfCommand = (settings: RuntimeSettings): number | undefined =>
  isGvisor(settings) ? settings.limits.pids : undefined;

/** Timeouts of the ways to end the processes of a sandbox. */
export interface EndingTimes {
  /** By an exec that kills, in milliseconds; after that the sandbox itself is ended. */
  readonly insideMs: number;
  /**
   * How long a sandbox is asked to end by itself before it is killed, in seconds. Killed in the middle, gVisor's kernel
   * leaves dozens of processes to containerd's shim while the shim is still busy with the kill, and it then takes a
   * second for each of them: the engine does not answer for that sandbox meanwhile.
   */
  readonly stopSeconds: number;
  /**
   * Until the engine must have removed the container, and started another one where that is wanted, in milliseconds.
   */
  readonly outsideMs: number;
}

export function endingTimes(settings: RuntimeSettings): EndingTimes {
  if (!isGvisor(settings)) return { insideMs: INSIDE_KILL_MS, stopSeconds: 0, outsideMs: OUTSIDE_KILL_MS };
  const shimMs = SHIM_MS_OF_PROCESS * (settings.limits.pids + SPARE_PROCESSES);
  return { insideMs: GVISOR_INSIDE_KILL_MS, stopSeconds: STOP_SECONDS, outsideMs: OUTSIDE_KILL_MS + shimMs };
}

/** The exit code of a command whose gVisor kernel has died: out of memory, or refused a thread. */
export const lostExitCode = (settings: RuntimeSettings): number | undefined => (isGvisor(settings) ? 128 : undefined);

/**
 * Whether a sandbox ends by itself when its manager is gone. One of gVisor does not: its kernel may be lost and started
 * again at any time, and the end of a sandbox is begun from outside only, see EndingTimes.
 */
export const endsWithManager = (settings: Pick<SandboxSettings, 'runtime'>): boolean => !isGvisor(settings);

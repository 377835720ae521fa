import type { SandboxDriverKind } from '@caribou/contracts';
import type { SandboxMounts } from '@caribou/core';
import type { SandboxNetwork } from './sandbox-network.js';

/** What one box may use. Sizes in bytes, times in milliseconds. */
export interface SandboxLimits {
  /** docker: of the whole box, swap included; bwrap: address space of each process. */
  readonly memoryBytes: number;
  /** docker only: CPU share in cores. */
  readonly cpus: number;
  /** Processes of the box; before Linux 5.14, bwrap: of the command's user over all boxes of the machine. */
  readonly pids: number;
  /** Size of the box's own /tmp. */
  readonly tmpBytes: number;
  /** Largest file a command may write. */
  readonly fileBytes: number;
  readonly openFiles: number;
  /** Longest time any command may take, whatever the caller asks for. */
  readonly commandTimeoutMs: number;
  /** A command that has written this much in all is ended. */
  readonly outputCeilingBytes: number;
}

export interface SandboxSettings {
  readonly driver: 'auto' | SandboxDriverKind;
  /** Image of docker boxes. */
  readonly image: string;
  /** Container runtime, `runsc` for gVisor; the engine's default when absent. */
  readonly runtime?: string;
  /** Socket of the engine; dockerode's default (DOCKER_HOST, then /var/run/docker.sock) when absent. */
  readonly engineSocket?: string;
  readonly limits: SandboxLimits;
  /** CARIBOU_HOME as this process sees it. */
  readonly homeDir: string;
  /** The same directory as the docker engine sees it; `homeDir` when absent. */
  readonly hostHomeDir?: string;
  /** What boxes mount; all of it lies below `homeDir`. */
  readonly mounts: SandboxMounts;
  /** Where boxes' connections go; boxes have no network at all when absent. */
  readonly network?: SandboxNetwork;
}

const MiB = 1024 * 1024;

export const DEFAULT_SANDBOX_LIMITS: SandboxLimits = {
  memoryBytes: 2048 * MiB,
  cpus: 1,
  pids: 256,
  tmpBytes: 256 * MiB,
  fileBytes: 512 * MiB,
  openFiles: 1024,
  commandTimeoutMs: 600_000,
  outputCeilingBytes: 10 * MiB,
};

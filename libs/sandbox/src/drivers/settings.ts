import { join } from 'node:path';
import type { SandboxConfig } from '@caribou/config';
import type { CopyMirrors, SandboxMounts } from '@caribou/core';
import { runDirectoryName } from './run-directory.js';
import type { SandboxNetwork } from './sandbox-network.js';

const MiB = 1024 * 1024;

/** Limits of one sandbox that no setting changes. */
const FIXED_LIMITS = {
  /** Largest file a command may write, in bytes. */
  fileBytes: 512 * MiB,
  openFiles: 1024,
  /** A command that has written this much output in all is ended. */
  outputCeilingBytes: 10 * MiB,
};

/**
 * What one sandbox may use. Not all drivers can bound it as a whole: with bwrap, memory is the address space of each
 * process, and before Linux 5.14 processes are counted over all sandboxes of the machine; only Docker bounds CPUs.
 */
export type SandboxLimits = SandboxConfig['limits'] & Readonly<Record<keyof typeof FIXED_LIMITS, number>>;

/** What a driver needs to know of its process. */
interface DriverSurroundings {
  /** CARIBOU_HOME as this process sees it. */
  readonly homeDir: string;
  /** CARIBOU_RUN_DIR as this process sees it; settings name the installation's directory below it. */
  readonly runDir: string;
  /** What sandboxes mount besides their egress; all of it lies below `homeDir`. */
  readonly mounts: SandboxMounts;
  /** Where the connections of sandboxes go; they have no network at all when absent. */
  readonly network?: SandboxNetwork;
  /**
   * Whether commands may start, asked right before each: not once the lease of this manager has run out. Default: yes.
   */
  readonly mayStart?: () => boolean;
  /** The manager whose sandboxes these are; drivers that make sandboxes in advance do so only with it. */
  readonly managerId?: string;
  /** How the files of sandboxes on other machines are exchanged with the copies here; for the kubernetes driver. */
  readonly mirrors?: CopyMirrors;
  /** Receives failures that no caller sees, as their work is repeated. */
  readonly onBackgroundFailure?: (error: unknown) => void;
  /** Socket of the engine; dockerode's default (DOCKER_HOST, then /var/run/docker.sock) when absent. */
  readonly engineSocket?: string;
}

/** The section `sandbox` of the configuration, and what belongs to this process. */
export interface SandboxSettings extends Omit<SandboxConfig, 'limits' | 'network'>, DriverSurroundings {
  readonly limits: SandboxLimits;
}

/** A driver's settings. The SandboxNetwork, not the driver, knows the hosts of the section's `network`. */
export function sandboxSettings(
  { network: _hosts, limits, hostRunDir, ...section }: SandboxConfig,
  { runDir, ...surroundings }: DriverSurroundings,
): SandboxSettings {
  const name = runDirectoryName(section.hostHomeDir ?? surroundings.homeDir);
  return {
    ...section,
    ...surroundings,
    runDir: join(runDir, name),
    ...(hostRunDir === undefined ? {} : { hostRunDir: join(hostRunDir, name) }),
    limits: { ...FIXED_LIMITS, ...limits },
  };
}

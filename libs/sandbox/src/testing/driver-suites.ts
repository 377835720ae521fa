import { commandIdentity } from '@caribou/core';
import { threadFiles } from '@caribou/files';
import {
  describeFileAbuse,
  describeSandboxAbuse,
  describeSandboxDriver,
  describeWorkspaceQuota,
  testSandboxSettings,
} from '@caribou/testing';
import { DockerDriver } from '../docker/docker-driver.js';
import type { Probe } from '../drivers/driver.js';
import type { SandboxSettings } from '../drivers/settings.js';

const MiB = 1024 * 1024;
/** Limits that the suites reach in a short time. */
export const SUITE_LIMITS = {
  memoryBytes: 256 * MiB,
  pids: 64,
  tmpBytes: 8 * MiB,
  fileBytes: 16 * MiB,
  outputCeilingBytes: 2 * MiB,
};

export const suiteLimits = (homeDir: string): SandboxSettings['limits'] =>
  testSandboxSettings(homeDir, { limits: SUITE_LIMITS }).limits;

type ContainerSettings = Pick<SandboxSettings, 'image'> & Partial<Pick<SandboxSettings, 'runtime'>>;
type DriverTraits = Omit<Parameters<typeof describeSandboxDriver>[1], 'make' | 'files' | 'uid'>;

export const dockerSettings = (homeDir: string, container: ContainerSettings): SandboxSettings =>
  testSandboxSettings(homeDir, { driver: 'docker', ...container, limits: SUITE_LIMITS });

/** How the suites look at files from outside: as the user of commands. */
export const fileAccess = {
  files: (homeDir: string) => threadFiles(homeDir, commandIdentity()),
  uid: commandIdentity().uid,
};

/** Makes drivers whose containers can be started. @throws Error with the reason of the probe when they cannot */
export function dockerDrivers(container: ContainerSettings): (homeDir: string) => Promise<DockerDriver> {
  let probed: Promise<Probe> | undefined;
  return async (homeDir) => {
    const driver = new DockerDriver(dockerSettings(homeDir, container));
    // The probe tries engine, image and home, which are of one kind in all suites: once is enough.
    probed ??= driver.probe();
    const probe = await probed;
    if (!probe.ok) throw new Error(probe.reason);
    return driver;
  };
}

/** The conformance suites that every container runtime must pass. */
export function describeDockerSuites(
  name: string,
  make: (homeDir: string) => Promise<DockerDriver>,
  traits: DriverTraits = {},
): void {
  const underTest = {
    make,
    files: fileAccess.files,
    uid: fileAccess.uid,
    ...traits,
  };
  describeSandboxDriver(name, underTest);
  describeSandboxAbuse(name, underTest);
  describeFileAbuse(name, underTest);
  describeWorkspaceQuota(name, underTest);
}

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { defaultSandboxConfig } from '@caribou/config';
import type { SandboxMounts } from '@caribou/core';
import { sandboxMounts } from '@caribou/files';
import { type SandboxSettings, sandboxSettings } from '@caribou/sandbox';

const GiB = 1024 ** 3;

type Changes = Partial<Omit<SandboxSettings, 'limits'>> & { readonly limits?: Partial<SandboxSettings['limits']> };

/**
 * Settings of a test's driver below `homeDir`: those of an empty configuration file with 2 GiB of memory, and
 * `changes`.
 */
export function testSandboxSettings(homeDir: string, { limits, ...changes }: Changes = {}): SandboxSettings {
  const surroundings = { homeDir, runDir: homeDir, mounts: mountsBelow(homeDir) };
  const settings = { ...sandboxSettings(defaultSandboxConfig(), surroundings), runDir: join(homeDir, 'run') };
  return { ...settings, ...changes, limits: { ...settings.limits, memoryBytes: 2 * GiB, ...limits } };
}

/** The mounts of a test's sandboxes; their skills are `homeDir/skills`, or `homeDir/other-skills` once that exists. */
const mountsBelow = (homeDir: string): SandboxMounts =>
  sandboxMounts(homeDir, () => {
    const instance = existsSync(join(homeDir, 'other-skills')) ? 'other-skills' : 'skills';
    const directory = join(homeDir, instance);
    mkdirSync(directory, { recursive: true });
    return Promise.resolve({ directory, instance });
  });

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '@caribou/config';
import { SandboxDriverKind } from '@caribou/contracts';
import { sandboxMounts } from '@caribou/files';
import { createDriver, isAllowedDriver, type SandboxDriver, sandboxSettings } from '@caribou/sandbox';
import { type Finding, fail, ok, warn } from './finding.js';
import type { DoctorContext } from './doctor-context.js';

/** Creates a sandbox and runs a command in it, as the sandbox-manager does. */
export async function checkSandbox(config: Config, { findProgram }: DoctorContext): Promise<readonly Finding[]> {
  const { driver: wanted, image } = config.sandbox;
  const trial = existsSync(config.homeDir) ? undefined : mkdtempSync(join(tmpdir(), 'caribou-doctor-'));
  const homeDir = trial ?? config.homeDir;
  const settings = sandboxSettings(config.sandbox, { homeDir, runDir: config.runDir, mounts: sandboxMounts(homeDir) });
  const drivers = SandboxDriverKind.options
    .filter((kind) => isAllowedDriver(kind, wanted))
    .map((kind) => createDriver(kind, settings));
  try {
    return await checkDrivers(drivers, { image, installs: findProgram('apt-get') !== undefined });
  } finally {
    await Promise.all(drivers.map(async (driver) => driver.close?.()));
    if (trial !== undefined) rmSync(trial, { recursive: true, force: true });
  }
}

interface Advice {
  readonly image: string;
  /** `npm start` can install bubblewrap. */
  readonly installs: boolean;
}

async function checkDrivers(drivers: readonly SandboxDriver[], advice: Advice): Promise<readonly Finding[]> {
  const reasons: string[] = [];
  for (const driver of drivers) {
    const answer = await driver.probe();
    if (answer.ok)
      return [...reasons.map((reason) => ok('sandbox', `not used: ${reason}`)), ok('sandbox', answer.detail)];
    reasons.push(`${driver.kind}: ${answer.reason}`);
  }
  const fix = `install bubblewrap, or start Docker and \`docker build -t ${advice.image} docker/sandbox\``;
  const missing =
    drivers.some(({ kind }) => kind === 'bwrap') && advice.installs && /not installed|ENOENT/.test(reasons.join());
  if (missing) return [warn('sandbox', reasons.join('; '), '`npm start` installs bubblewrap with apt-get')];
  return [fail('sandbox', `no commands can run: ${reasons.join('; ')}`, fix)];
}

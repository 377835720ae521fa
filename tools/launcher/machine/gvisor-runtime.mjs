import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from './programs.mjs';

/** Sandboxes have no network, and reach the one socket that is mounted into them; see docs/network.md. */
const runscFlags = ['--network=none', '--host-uds=open'];

/**
 * Arguments that register gVisor as runsc at a Docker engine: none when it is not installed, or when the engine's own
 * configuration names runtimes, as it accepts them from one source only.
 *
 * @param {{ path: string, folder: string, configFile?: string }} options path as in PATH; folder: for a generated script
 * @returns {string[]}
 */
export function gvisorRuntime({ path, folder, configFile = '/etc/docker/daemon.json' }) {
  const runsc = findProgram('runsc', path);
  if (runsc === undefined || namesRuntimes(configFile)) return [];
  mkdirSync(folder, { recursive: true });
  const script = join(folder, 'runsc');
  writeFileSync(script, `#!/bin/sh\nexec '${runsc.replaceAll("'", String.raw`'\''`)}' ${runscFlags.join(' ')} "$@"\n`);
  chmodSync(script, 0o755);
  return [`--add-runtime=runsc=${script}`];
}

/** @param {string} configFile */
const namesRuntimes = (configFile) => existsSync(configFile) && readFileSync(configFile, 'utf8').includes('"runtimes"');

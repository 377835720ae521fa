import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, searchPath } from '../../launcher/machine/programs.mjs';
import { installDebianPackage } from '../../launcher/machine/system-packages.mjs';
import { runCommand } from '../../launcher/processes/run-command.mjs';
import { LauncherError, say } from '../../launcher/processes/terminal.mjs';
import { areBuilt } from './build-programs.mjs';
import { folder } from './layout.mjs';
import { pluginFolder } from './node-programs.mjs';

/** What the machine has to have for the lab. */

/** Programs and the Debian package of each. */
const programs = {
  containerd: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  ipset: 'ipset',
  conntrack: 'conntrack',
  ip: 'iproute2',
  openssl: 'openssl',
  nsenter: 'util-linux',
  sysctl: 'procps',
};
const leastGo = { major: 1, minor: 25 };
/** Folders that each machine of the lab replaces by its own. */
const replaced = ['/run/', '/var/lib/', '/var/log/', '/var/run/'];

/**
 * Installs missing packages of Debian, and says what else is missing.
 *
 * @param {{ signal: AbortSignal }} options
 * @throws {LauncherError} that names everything that is missing
 */
export async function requireMachine({ signal }) {
  const problems = [...placeProblems(), ...(await goProblems())];
  if (problems.length === 0) for (const name of missingPackages()) await installDebianPackage(name, signal);
  const missing = missingPackages();
  if (missing.length > 0) problems.push(`packages of Debian are missing: apt-get install ${missing.join(' ')}`);
  if (problems.length > 0)
    throw new LauncherError(`The lab cannot run here:\n${problems.map((line) => `  - ${line}`).join('\n')}`);
  say('machine: has what the lab needs');
}

/** @returns {string[]} */
function placeProblems() {
  const problems = [];
  if (process.platform !== 'linux') problems.push(`it needs Linux, this is ${process.platform}`);
  else if (process.getuid?.() !== 0) problems.push('it needs root, for namespaces, network and control groups');
  const above = replaced.find((path) => folder.startsWith(path));
  if (above !== undefined) problems.push(`${folder} is below ${above}: name another folder by CARIBOU_KUBERNETES_LAB`);
  return problems;
}

/** Go is needed only to build. @returns {Promise<string[]>} */
async function goProblems() {
  if (areBuilt()) return [];
  const { code, output } = await runCommand('go', ['version'], { timeoutMs: 10_000 });
  const [, major = '0', minor = '0'] = /go(\d+)\.(\d+)/.exec(output) ?? [];
  const isNew = Number(major) > leastGo.major || (Number(major) === leastGo.major && Number(minor) >= leastGo.minor);
  if (code === 0 && isNew) return [];
  return [
    `it is built with Go ${leastGo.major}.${leastGo.minor} or newer (https://go.dev/dl), ${code === 0 ? `this is ${major}.${minor}` : 'which is not installed'}`,
  ];
}

/** @returns {string[]} */
function missingPackages() {
  const path = searchPath(folder);
  const missing = Object.entries(programs).flatMap(([name, of]) => (findProgram(name, path) === undefined ? [of] : []));
  return existsSync(join(pluginFolder, 'ptp')) ? missing : [...missing, 'containernetworking-plugins'];
}

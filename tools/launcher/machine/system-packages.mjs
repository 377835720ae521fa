import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, searchPath } from './programs.mjs';
import { runCommand, tail } from '../processes/run-command.mjs';
import { say, step, warn } from '../processes/terminal.mjs';

const aptTimeoutMs = 10 * 60_000;

/** Programs and the Debian packages of each, separated by spaces. */
const debianPackage = {
  'nats-server': 'nats-server',
  'redis-server': 'redis-server',
  bwrap: 'bubblewrap',
  setpriv: 'util-linux',
  ip: 'iproute2',
  openssl: 'openssl',
  dockerd: 'docker.io',
  busybox: 'busybox-static',
  runsc: 'runsc',
  chromium: 'chromium',
  cc: 'gcc libc6-dev',
};

/** @typedef {keyof typeof debianPackage} Program */

/**
 * Installs missing programs: by apt as root, else by unpacking Debian's packages into the data folder as an ordinary
 * user. Returns the programs that are still missing; the caller knows which of them are optional.
 *
 * @param {{ programs: Program[], unpacked: string, signal?: AbortSignal }} options unpacked: folder for the second way
 * @returns {Promise<Program[]>}
 */
export async function installPrograms({ programs, unpacked, signal }) {
  const missing = () => programs.filter((name) => findProgram(name, searchPath(unpacked)) === undefined);
  const wanted = missing();
  if (wanted.length === 0) {
    say(`programs: ${programs.join(', ')} are installed`);
    return [];
  }
  if (findProgram('apt-get', searchPath(unpacked)) === undefined) return wanted;
  const packages = wanted.flatMap((name) => debianPackage[name].split(' '));
  const root = process.getuid?.() === 0;
  const how = root ? 'apt-get install' : `unpacking Debian packages into ${unpacked}`;
  await step(`programs: ${packages.join(', ')} (${how})`, () =>
    root ? aptInstall(packages, signal) : unpackPackages(packages, unpacked, signal),
  );
  return missing();
}

/**
 * Installs a package of Debian that is no program, if this process may.
 *
 * @param {string} name
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<boolean>} whether it is installed now
 */
export async function installDebianPackage(name, signal) {
  if (process.getuid?.() !== 0 || findProgram('apt-get', process.env['PATH'] ?? '') === undefined) return false;
  await aptInstall([name], signal);
  const { code } = await runCommand('dpkg', ['-s', name], { timeoutMs: aptTimeoutMs });
  return code === 0;
}

/** @param {string[]} packages @param {AbortSignal | undefined} signal */
async function aptInstall(packages, signal) {
  const install = ['install', '-y', '--no-install-recommends', ...packages];
  await withoutServiceStart(async () => {
    if ((await apt(install, signal)).code === 0) return;
    await apt(['update'], signal);
    const { code, output } = await apt(install, signal);
    if (code !== 0) warn(`apt-get install failed (exit ${code}):\n${tail(output)}`);
  });
}

/**
 * Prevents Debian from starting the installed servers as system services: the launcher runs its own. Only where systemd
 * runs, and only if no other policy is set.
 *
 * @param {() => Promise<void>} work
 */
async function withoutServiceStart(work) {
  const policy = '/usr/sbin/policy-rc.d';
  if (!existsSync('/run/systemd/system') || existsSync(policy)) return work();
  writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await work();
  } finally {
    rmSync(policy, { force: true });
  }
}

/**
 * Downloads the packages and their missing dependencies, and unpacks them.
 *
 * @param {string[]} packages
 * @param {string} unpacked
 * @param {AbortSignal | undefined} signal
 */
async function unpackPackages(packages, unpacked, signal) {
  const downloads = join(unpacked, 'downloads');
  mkdirSync(join(downloads, 'lists', 'partial'), { recursive: true });
  mkdirSync(join(downloads, 'cache', 'archives', 'partial'), { recursive: true });
  const ownLists = [
    '-o',
    `Dir::State::lists=${join(downloads, 'lists')}`,
    '-o',
    `Dir::Cache=${join(downloads, 'cache')}`,
  ];
  const simulate = ['install', '-s', '--no-install-recommends', ...packages];
  let lists = /** @type {string[]} */ ([]);
  let plan = await apt(simulate, signal);
  if (plan.code !== 0) {
    lists = ownLists;
    await apt([...lists, 'update'], signal);
    plan = await apt([...lists, ...simulate], signal);
  }
  const names = [...plan.output.matchAll(/^Inst (\S+)/gm)].map((found) => String(found[1]));
  const fetched = await apt([...lists, 'download', ...names], signal, downloads);
  if (plan.code !== 0 || fetched.code !== 0) {
    warn(`apt-get could not fetch ${packages.join(', ')}:\n${tail(`${plan.output}\n${fetched.output}`)}`);
    return;
  }
  for (const file of readdirSync(downloads).filter((name) => name.endsWith('.deb'))) {
    await runCommand('dpkg', ['-x', join(downloads, file), unpacked], { timeoutMs: aptTimeoutMs });
  }
  rmSync(downloads, { recursive: true, force: true });
}

/** @param {string[]} args @param {AbortSignal | undefined} signal @param {string} [cwd] */
function apt(args, signal, cwd) {
  return runCommand('apt-get', ['-q', ...args], {
    timeoutMs: aptTimeoutMs,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` },
    ...(signal === undefined ? {} : { signal }),
    ...(cwd === undefined ? {} : { cwd }),
  });
}

import { omitUndefined } from '@caribou/contracts';
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { commandIdentity } from '@caribou/core';
import { findProgram, hostRootEntries, isReachableBy } from './bwrap-host.js';
import { isSystemNode, type LaunchPlan, type Programs } from './bwrap-launch.js';
import { prepareRunDirectory } from '../drivers/run-directory.js';
import { seccompFilter } from '../syscalls/seccomp.js';
import type { SandboxSettings } from '../drivers/settings.js';

const run = promisify(execFile);

/** --disable-userns and --size exist from 0.8.0 on. */
const MINIMUM_VERSION = [0, 8] as const;

type Planned =
  | { readonly ok: true; readonly plan: LaunchPlan; readonly detail: string }
  | { readonly ok: false; readonly reason: string };
const no = (reason: string): Planned => ({ ok: false, reason });

function findPrograms(): Programs | string {
  const bwrap = findProgram('bwrap');
  const prlimit = findProgram('prlimit');
  const setpriv = findProgram('setpriv');
  const unshare = findProgram('unshare');
  const mount = findProgram('mount');
  const mkdir = findProgram('mkdir');
  const setsid = findProgram('setsid');
  if (bwrap === undefined) return 'bubblewrap is not installed (apt install bubblewrap)';
  if (prlimit === undefined) return 'prlimit is not installed (apt install util-linux)';
  if (process.getuid?.() === 0 && setpriv === undefined) return 'setpriv is not installed (apt install util-linux)';
  if (unshare === undefined || mount === undefined || mkdir === undefined)
    return 'unshare, mount and mkdir are needed (apt install util-linux mount coreutils)';
  if (setsid === undefined) return 'setsid is not installed (apt install util-linux)';
  return {
    bwrap,
    prlimit,
    unshare,
    mount,
    mkdir,
    setsid,
    shell: findProgram('bash') ?? '/bin/sh',
    ...omitUndefined({ setpriv }),
  };
}

async function versionProblem(bwrap: string): Promise<string | null> {
  const { stdout } = await run(bwrap, ['--version'], { env: {}, timeout: 5000 });
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout)?.slice(1) ?? []).map(Number);
  const enough = major > MINIMUM_VERSION[0] || (major === MINIMUM_VERSION[0] && minor >= MINIMUM_VERSION[1]);
  return enough ? null : `bubblewrap ${stdout.trim()} is too old, 0.8 or newer is needed`;
}

/** A directory that every machine has and that hides none of the sources when mounts are staged in it. */
function stageDirectory(sources: readonly string[]): string {
  const hides = (directory: string): boolean =>
    sources.some((path) => path === directory || path.startsWith(`${directory}/`));
  return ['/mnt', '/media', '/srv'].find((directory) => existsSync(directory) && !hides(directory)) ?? '/tmp';
}

/** The contents of sandboxes besides the data, and all directories of the machine that are mounted into them. */
function nodeAndSources({ homeDir, runDir, network }: SandboxSettings) {
  const node = network === undefined ? {} : { node: realpathSync(process.execPath) };
  const nodeDirectory = node.node === undefined || isSystemNode(node.node) ? [] : [dirname(node.node)];
  return { contents: node, sources: [homeDir, ...(network === undefined ? [] : [runDir]), ...nodeDirectory] };
}

/** How commands are to be launched on this machine, or why they cannot be. */
export async function planLaunch(settings: SandboxSettings): Promise<Planned> {
  if (process.platform !== 'linux') return no('bubblewrap exists on Linux only');
  const programs = findPrograms();
  if (typeof programs === 'string') return no(programs);
  const problem = await versionProblem(programs.bwrap);
  if (problem !== null) return no(problem);
  settings.mounts.prepareHome();
  prepareRunDirectory(settings.runDir);
  const identity = commandIdentity();
  const dropsUser = process.getuid?.() === 0;
  const { contents, sources } = nodeAndSources(settings);
  const plan: LaunchPlan = {
    programs,
    identity,
    dropsUser,
    limits: settings.limits,
    rootEntries: hostRootEntries(),
    seccomp: seccompFilter(process.arch),
    ...contents,
    stage: stageDirectory(sources),
    bindsSources: dropsUser && !sources.every((path) => isReachableBy(identity, path)),
  };
  return { ok: true, plan, detail: describePlan(plan) };
}

function describePlan({ identity, seccomp, bindsSources }: LaunchPlan): string {
  const filter = seccomp === null ? `no system call filter for ${process.arch}` : 'system call filter';
  return [`user ${identity.uid}`, filter, ...(bindsSources ? ['staged mounts'] : [])].join(', ');
}

/** Advice for administrators about a launch that failed. */
export function explainFailure(message: string): string {
  if (/namespace|uid map|Operation not permitted|Permission denied/i.test(message)) {
    return `${message}; user namespaces must be allowed (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0; in a container: --security-opt seccomp=unconfined)`;
  }
  return message;
}

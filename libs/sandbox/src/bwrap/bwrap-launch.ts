import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Duplex, type Readable } from 'node:stream';
import { BugError, omitUndefined } from '@caribou/contracts';
import { type CommandIdentity, DATA_DIRECTORIES, type DataDirectory } from '@caribou/core';
import { bwrapArguments, type BwrapSources, processLimits, type RootEntry } from './bwrap-arguments.js';
import { inheritableDescriptors, identifyProcess, type ProcessIdentity } from './bwrap-host.js';
import type { SandboxCommand } from '../drivers/driver.js';
import { NODE_IN_SANDBOX, WITH_FORWARDER } from '../drivers/sandbox-network.js';
import { memoryDirectories, type StagingPrograms, stagingArguments } from './bwrap-staging.js';
import type { SandboxLimits } from '../drivers/settings.js';

/**
 * Starts bwrap. Four guarantees on the launcher's side:
 *
 *  L1  bwrap gets an empty environment and its options through a descriptor: /proc/1/environ and /proc/1/cmdline of
 *      the sandbox would show both
 *  L2  root drops to the dedicated user before bwrap starts
 *  L3  no descriptor of this process reaches the sandbox: bwrap closes what it is given, inherited ones are covered
 *  L4  bwrap and PID 1 of the sandbox are in a process group and session of their own, without a terminal; the command
 *      is in another one (process-group.ts)
 *
 * Where the dedicated user cannot reach the data by path (a home below /root, say), root first binds the directories
 * in a mount namespace of its own at paths that this user can reach ("staging"). The paths lead through the platform's
 * own directories only; no command can move them.
 */

export interface Programs extends StagingPrograms {
  readonly bwrap: string;
  readonly prlimit: string;
  /** Only root needs it. */
  readonly setpriv?: string;
  readonly setsid: string;
  readonly shell: string;
}

export interface LaunchPlan {
  readonly programs: Programs;
  readonly limits: SandboxLimits;
  readonly rootEntries: readonly RootEntry[];
  readonly seccomp: Buffer | null;
  readonly identity: CommandIdentity;
  /** True when this process is root. */
  readonly dropsUser: boolean;
  /** Directory of the machine to stage mounts in. */
  readonly stage: string;
  /** Whether root binds the mounted directories there, as the dedicated user cannot reach them by path. */
  readonly bindsSources: boolean;
  /** The Node that runs the forwarders of sandboxes with a network. */
  readonly node?: string;
}

/** Host paths to mount. */
export interface LaunchSources {
  readonly data: Readonly<Record<DataDirectory, string>>;
  readonly skills?: string;
  /** The directory of the sandbox's egress, if it has one. */
  readonly egress?: string;
}

export interface Launched {
  readonly child: ChildProcess;
  /** Leads the group of all that bwrap is; null when there is no such process. */
  readonly leader: ProcessIdentity | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** JSON documents by bwrap: child-pid once there is a sandbox, exit-code only if the command was really started. */
  readonly status: Readable;
}

/** Descriptor numbers in the child. */
const FD = { args: 3, passwd: 4, group: 5, status: 6, seccomp: 7 } as const;

/** Whether sandboxes have this Node among their system files. */
export const isSystemNode = (node: string): boolean => node.startsWith('/usr/');

/** The mounted directories by name, in the order of staging. */
function directoriesOf({ node }: LaunchPlan, { data, skills, egress }: LaunchSources): [string, string][] {
  return [
    ...DATA_DIRECTORIES.map((directory): [string, string] => [directory, data[directory]]),
    ...(skills === undefined ? [] : [['skills', skills] satisfies [string, string]]),
    ...(egress === undefined ? [] : [['egress', egress] satisfies [string, string]]),
    ...(node === undefined || isSystemNode(node) ? [] : [['node', dirname(node)] satisfies [string, string]]),
  ];
}

/** The paths that bwrap mounts: the original ones or, staged, those of the staging script, which counts down to 1. */
function resolveMountSources(plan: LaunchPlan, sources: LaunchSources): Omit<BwrapSources, 'rootEntries'> {
  const { stage, bindsSources, node } = plan;
  const directories = directoriesOf(plan, sources);
  const at = Object.fromEntries(
    directories.map(([name, path], index) => [name, bindsSources ? `${stage}/${directories.length - index}` : path]),
  );
  const { workspace = '', uploads = '', outputs = '', skills, egress, node: nodeDirectory } = at;
  return {
    data: { workspace, uploads, outputs },
    memory: memoryDirectories(stage),
    ...omitUndefined({ skills, egress }),
    ...(nodeDirectory === undefined || node === undefined ? {} : { node: join(nodeDirectory, basename(node)) }),
  };
}

/** The arguments before the command that start the forwarder, in a sandbox with an egress. */
function forwarder({ programs, node }: LaunchPlan, { egress }: LaunchSources): string[] {
  if (egress === undefined) return [];
  if (node === undefined) throw new BugError('a sandbox with an egress socket takes node');
  return [programs.shell, '-c', WITH_FORWARDER, 'sh', programs.setsid, isSystemNode(node) ? node : NODE_IN_SANDBOX];
}

/**
 * The arguments before bwrap: the drop to the dedicated user (L2), and staging before it or, where root has nothing
 * to bind, after.
 */
function prefix(plan: LaunchPlan, sources: LaunchSources): string[] {
  const { programs, identity, stage, limits, bindsSources } = plan;
  const paths = bindsSources ? directoriesOf(plan, sources).map(([, path]) => path) : [];
  const staging = stagingArguments({ programs, stage, limits, paths }, !bindsSources);
  if (!plan.dropsUser) return staging;
  const { setpriv } = programs;
  if (setpriv === undefined) throw new BugError('root launches through setpriv');
  const user = [`--reuid=${identity.uid}`, `--regid=${identity.gid}`, '--clear-groups', '--inh-caps=-all'];
  const dropped = [setpriv, ...user, '--'];
  return bindsSources ? [...staging, ...dropped] : [...dropped, ...staging];
}

type Slot = 'ignore' | 'pipe' | number;

/** stdio of the child; inherited descriptors are covered by /dev/null (L3). */
function slots(plan: LaunchPlan, devNull: number): Slot[] {
  const own: Slot[] = [
    'ignore',
    'pipe',
    'pipe',
    'pipe',
    'pipe',
    'pipe',
    'pipe',
    plan.seccomp === null ? 'ignore' : 'pipe',
  ];
  const inherited = inheritableDescriptors();
  const all: Slot[] = Array.from({ length: Math.max(own.length, 1 + Math.max(2, ...inherited)) }, () => 'ignore');
  for (const fd of inherited) all[fd] = devNull;
  own.forEach((slot, fd) => {
    if (slot !== 'ignore') all[fd] = slot;
  });
  return all;
}

const passwdOf = ({ uid, gid }: CommandIdentity): string =>
  `root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nsandbox:x:${uid}:${gid}:sandbox:/mnt/user-data/workspace:/bin/sh\n`;
const groupOf = ({ gid }: CommandIdentity): string => `root:x:0:\nsandbox:x:${gid}:\n`;

/** The pipe at a descriptor of the child; Node makes every pipe a socket, so it goes both ways. */
function pipeAt(child: ChildProcess, fd: number): Duplex {
  const streams: readonly unknown[] = child.stdio;
  const stream = streams[fd];
  if (!(stream instanceof Duplex)) throw new BugError(`descriptor ${fd} of the child is no pipe`);
  return stream;
}

function writeToDescriptor(child: ChildProcess, fd: number, content: string | Buffer): void {
  const stream = pipeAt(child, fd);
  // A launch that fails early closes the reading end; its exit says why.
  stream.on('error', () => undefined);
  stream.end(content);
}

/**
 * Starts a command in a new sandbox. Must be called from Node's main thread: the sandbox dies with the thread that
 * spawns it. `onStarted` receives the leader before bwrap has its options: without them it runs no command, so one that
 * this process did not live to record does nothing.
 */
export function launch(
  plan: LaunchPlan,
  sources: LaunchSources,
  command: Pick<SandboxCommand, 'command' | 'timeoutMs' | 'maxFileBytes'>,
  onStarted: (leader: ProcessIdentity) => void,
): Launched {
  const options = bwrapArguments(
    { ...resolveMountSources(plan, sources), rootEntries: plan.rootEntries },
    {
      passwd: FD.passwd,
      group: FD.group,
      status: FD.status,
      ...(plan.seccomp === null ? {} : { seccomp: FD.seccomp }),
    },
    plan.identity,
  );
  const [file = '', ...words] = [
    ...prefix(plan, sources),
    ...[plan.programs.bwrap, '--args', String(FD.args), '--'],
    // A command that signals its process group reaches nothing of bwrap (L4).
    plan.programs.setsid,
    ...forwarder(plan, sources),
    // Inside, so that the kernel counts the processes of this sandbox's user namespace alone (from Linux 5.14 on).
    ...[plan.programs.prlimit, ...processLimits(plan.limits, command.timeoutMs, command.maxFileBytes), '--'],
    ...[plan.programs.shell, '-c', command.command],
  ];
  const devNull = openSync('/dev/null', 'r+');
  try {
    const child = spawn(file, words, { env: {}, cwd: '/', stdio: slots(plan, devNull), detached: true });
    const leader = child.pid === undefined ? null : identifyProcess(child.pid);
    if (leader !== null) onStarted(leader);
    writeToDescriptor(child, FD.args, `${options.join('\0')}\0`);
    writeToDescriptor(child, FD.passwd, passwdOf(plan.identity));
    writeToDescriptor(child, FD.group, groupOf(plan.identity));
    if (plan.seccomp !== null) writeToDescriptor(child, FD.seccomp, plan.seccomp);
    return { child, leader, stdout: pipeAt(child, 1), stderr: pipeAt(child, 2), status: pipeAt(child, FD.status) };
  } finally {
    closeSync(devNull);
  }
}

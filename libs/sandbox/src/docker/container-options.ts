import { omitUndefined } from '@caribou/contracts';
import { createHash } from 'node:crypto';
import { join, relative } from 'node:path';
import {
  type CommandIdentity,
  DATA_DIRECTORIES,
  type DataMounts,
  SKILLS_ROOT,
  type SkillsMount,
  VIRTUAL_ROOT,
} from '@caribou/core';
import type { ContainerCreateOptions, ContainerInfo, MountSettings } from 'dockerode';
import { commandEnvironment, WORKING_DIRECTORY } from '../drivers/command-environment.js';
import type { SandboxInfo, SandboxSpec } from '../drivers/driver.js';
import { endsWithManager, memoryBound, processBounds } from './gvisor.js';
import { seccompProfile } from '../syscalls/oci-seccomp.js';
import { EGRESS_DIRECTORY, forwarderCommand } from '../drivers/sandbox-network.js';
import type { SandboxSettings } from '../drivers/settings.js';

/** PID 1 of a docker sandbox: another user than the commands, so that they cannot signal it. */
export const INIT_USER: CommandIdentity = { uid: 10_002, gid: 10_002 };

/** Labels that name the owner of a container; `home` distinguishes installations on one engine. */
export const LABEL = {
  mark: 'caribou.sandbox',
  home: 'caribou.home',
  manager: 'caribou.manager',
  user: 'caribou.user',
  thread: 'caribou.thread',
  config: 'caribou.config',
} as const;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24);

export const homeLabel = (settings: SandboxSettings): string => digest(settings.hostHomeDir ?? settings.homeDir);

/** A PID 1 that ends a while after SIGTERM, so that the sender has finished by then; see EndingTimes. */
const END_ON_SIGTERM = "trap 'sleep 0.5; exit' TERM";

/** A PID 1 that ends with its standard input, which the engine closes when the manager is gone; see ContainerTethers. */
const END_WITH_INPUT = 'exec 3<&0; (cat <&3; kill $$) &';

/**
 * PID 1's command: it waits, and the engine's init reaps; with an egress socket it runs a forwarder, which is started
 * again when it ends: the sandbox's memory limit may have hit it. Any shell, cat and sleep support this syntax.
 */
function waiting(settings: ContainerSettings): string[] {
  const step =
    settings.egressDirectory === undefined ? 'sleep 86400 & wait $!' : `${forwarderCommand('node')} & wait $!; sleep 1`;
  const first = endsWithManager(settings) ? `${END_ON_SIGTERM}; ${END_WITH_INPUT}` : `${END_ON_SIGTERM};`;
  return ['/bin/sh', '-c', `${first} while :; do ${step}; done`];
}

/** Where the engine finds a path below the home. */
const toEnginePath = ({ homeDir, hostHomeDir }: SandboxSettings, path: string): string =>
  join(hostHomeDir ?? homeDir, relative(homeDir, path));

/** Where the engine finds a path below the run directory. */
const toEngineRunPath = ({ runDir, hostRunDir }: SandboxSettings, path: string): string =>
  join(hostRunDir ?? runDir, relative(runDir, path));

function bindMounts(settings: ContainerSettings): MountSettings[] {
  const data = DATA_DIRECTORIES.map(
    (directory): MountSettings => ({
      Type: 'bind',
      Source: toEnginePath(settings, settings.data[directory]),
      Target: `${VIRTUAL_ROOT}/${directory}`,
    }),
  );
  const { mountedSkills } = settings;
  if (mountedSkills === undefined) return data;
  const source = toEnginePath(settings, mountedSkills.directory);
  return [...data, { Type: 'bind', Source: source, Target: SKILLS_ROOT, ReadOnly: true }];
}

/** The settings, and what is different from sandbox to sandbox. */
type ContainerSettings = SandboxSettings & {
  readonly home: string;
  readonly data: DataMounts;
  /** Directory of the sandbox's egress socket, if it has one. */
  readonly egressDirectory?: string;
  readonly mountedSkills?: SkillsMount;
};

/** The image has these labels where compose has built it; a sandbox is no container of its project. */
const NOT_OF_COMPOSE = {
  'com.docker.compose.project': '',
  'com.docker.compose.service': '',
  'com.docker.compose.version': '',
};

const PROFILE = seccompProfile(process.arch);
const SECCOMP = PROFILE === null ? null : JSON.stringify(PROFILE);

/**
 * The engine's options for a sandbox. For an architecture that our profile of system calls does not know,
 * the engine's default applies; a log driver would fill the engine's disk with the output of commands; without `Init`
 * the children of a fork bomb stay zombies and use up the process limit for good.
 */
export function containerOptions(settings: ContainerSettings, sandbox: SandboxSpec): ContainerCreateOptions {
  const { limits, egressDirectory } = settings;
  const tied = endsWithManager(settings);
  const { PidsLimit, Ulimits } = processBounds(settings);
  const egress: MountSettings[] =
    egressDirectory === undefined
      ? []
      : [
          {
            Type: 'bind',
            Source: toEngineRunPath(settings, egressDirectory),
            Target: EGRESS_DIRECTORY,
            ReadOnly: true,
          },
        ];
  const options: ContainerCreateOptions = {
    name: sandbox.sandboxId,
    Image: settings.image,
    Entrypoint: waiting(settings),
    Cmd: [],
    User: `${INIT_USER.uid}:${INIT_USER.gid}`,
    WorkingDir: WORKING_DIRECTORY,
    Env: Object.entries(commandEnvironment(egressDirectory !== undefined)).map(([name, value]) => `${name}=${value}`),
    Hostname: 'sandbox',
    NetworkDisabled: true,
    OpenStdin: tied,
    StdinOnce: tied,
    HostConfig: {
      Init: true,
      NetworkMode: 'none',
      IpcMode: 'private',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true', ...(SECCOMP === null ? [] : [`seccomp=${SECCOMP}`])],
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,size=${limits.tmpBytes},mode=1777` },
      Memory: memoryBound(settings),
      MemorySwap: memoryBound(settings),
      NanoCpus: Math.round(limits.cpus * 1e9),
      PidsLimit,
      Ulimits: [
        ...Ulimits,
        { Name: 'nofile', Soft: limits.openFiles, Hard: limits.openFiles },
        { Name: 'fsize', Soft: limits.fileBytes, Hard: limits.fileBytes },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
      AutoRemove: tied,
      Mounts: [...bindMounts(settings), ...egress],
      ...omitUndefined({ Runtime: settings.runtime }),
    },
  };
  return {
    ...options,
    Labels: {
      ...NOT_OF_COMPOSE,
      [LABEL.mark]: '1',
      [LABEL.home]: settings.home,
      [LABEL.manager]: sandbox.managerId,
      [LABEL.user]: sandbox.userId,
      [LABEL.thread]: sandbox.threadId,
      [LABEL.config]: digest(JSON.stringify([options, settings.mountedSkills?.instance])),
    },
  };
}

/** Converts a container of Caribou to a sandbox; null when one of its labels is missing. */
export function toSandboxInfo(container: ContainerInfo): SandboxInfo | null {
  const name = container.Names[0]?.replace(/^\//, '');
  const managerId = container.Labels[LABEL.manager];
  const userId = container.Labels[LABEL.user];
  const threadId = container.Labels[LABEL.thread];
  if (name === undefined || managerId === undefined || userId === undefined || threadId === undefined) return null;
  return {
    sandboxId: name,
    managerId,
    userId,
    threadId,
    running: container.State === 'running',
    instance: container.Id,
  };
}

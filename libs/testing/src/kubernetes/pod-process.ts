import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Json } from './fake-cluster.js';
import { createPodCgroups, type PodCgroups } from './pod-cgroups.js';
import type { PodNetwork } from './pod-network.js';

/** A container as far as it is carried out here. */
export interface ContainerSpec {
  readonly command: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

export interface PodVolume {
  readonly name: string;
  readonly emptyDir: { readonly sizeLimit: string; readonly medium?: string };
}

export interface PodProcessOptions {
  /** For directories and groups of this machine. */
  readonly name: string;
  readonly spec: Json;
  readonly network: PodNetwork;
  /** A directory for the pod's volumes, which nothing else uses. */
  readonly folder: string;
  /** Directories of this machine that the image has, by their path in it, beside the system's own programs. */
  readonly image: Readonly<Record<string, string>>;
  /** A filter of system calls, as the runtime's default profile is one. */
  readonly seccomp: Buffer | null;
}

/** A pod's container that runs. */
export interface PodProcess {
  readonly child: ChildProcess;
  readonly cgroups: PodCgroups;
}

const GROUP = 10_001;
/** The user that a pod asks for. */
const userOf = (spec: Json): number => (spec['securityContext'] as { readonly runAsUser: number }).runAsUser;
const SECCOMP_FD = 3;
const PASSWD_FD = 4;
const PASSWD = `root:x:0:0:root:/root:/bin/sh\nsandbox:x:${GROUP}:${GROUP}::/mnt/user-data/workspace:/bin/sh\n`;
/** Directories that bwrap would otherwise close to everybody but root. */
const OPEN = ['/etc', '/etc/ssl', '/mnt', '/run', '/run/caribou-agent'].flatMap((path) => [
  '--perms',
  '0755',
  '--dir',
  path,
]);
const ETC = ['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/ssl/certs'];

/** Starts the first process of a pod's one container, in namespaces of its own, as a runtime does it. */
export function startPodProcess(options: PodProcessOptions): PodProcess {
  const { name, spec, network, seccomp } = options;
  const [container] = spec['containers'] as readonly [ContainerSpec];
  const cgroups = createPodCgroups(name, Number(container.resources.limits.memory));
  const enter = `for f in "$@"; do case $f in --) break;; esac; echo $$ > "$f"; done; while [ "$1" != -- ]; do shift; done; shift; exec "$@"`;
  const words = [
    ...['sh', '-c', enter, 'sh', ...cgroups.entrances, '--'],
    ...['ip', 'netns', 'exec', network.namespace],
    ...bubblewrap(options, container),
  ];
  const [file = '', ...rest] = words;
  const child = spawn(file, rest, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', seccomp === null ? 'ignore' : 'pipe', 'pipe'],
    detached: true,
  });
  write(child, PASSWD_FD, PASSWD);
  if (seccomp !== null) write(child, SECCOMP_FD, seccomp);
  return { child, cgroups };
}

/** bwrap's command line; a pod with a user namespace is started by the user, another one by root, who then drops to him. */
function bubblewrap(options: PodProcessOptions, container: ContainerSpec): string[] {
  const { spec, image, seccomp } = options;
  const hasUsers = spec['hostUsers'] === false;
  const user = [`--reuid=${userOf(spec)}`, `--regid=${GROUP}`, '--clear-groups', '--inh-caps=-all'];
  const mounts = [
    ...[
      '--ro-bind',
      '/usr',
      '/usr',
      ...rootEntries(),
      ...OPEN,
      ...ETC.flatMap((path) => ['--ro-bind-try', path, path]),
    ],
    ...['--file', String(PASSWD_FD), '/etc/passwd', '--proc', '/proc', '--dev', '/dev'],
    // The system's own directory cannot get another one in it.
    ...['--tmpfs', '/usr/local/lib'],
    ...Object.entries(image).flatMap(([path, folder]) => ['--ro-bind', folder, path]),
    ...volumeMounts(options, container),
  ];
  const environment = container.env.flatMap(({ name, value }) => ['--setenv', name, value]);
  const bwrap = [
    ...['bwrap', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--as-pid-1'],
    ...['--die-with-parent', '--clearenv', '--hostname', spec['hostname'] as string],
    ...(hasUsers ? ['--unshare-user', '--uid', String(userOf(spec)), '--gid', String(GROUP), '--cap-drop', 'ALL'] : []),
    ...mounts,
    ...['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin', ...environment],
    ...(seccomp === null ? [] : ['--seccomp', String(SECCOMP_FD)]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/', '--'],
  ];
  const command = ['bash', '-c', WITHOUT_DESCRIPTORS, 'sh', ...container.command];
  if (hasUsers) return ['setpriv', ...user, '--', ...bwrap, ...command];
  return [...bwrap, 'setpriv', ...user, '--bounding-set=-all', '--no-new-privs', '--', ...command];
}

/** Bash: closes the descriptors that the test's own parents have left open. */
const WITHOUT_DESCRIPTORS =
  'for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done; exec "$@"';

/** Links of a merged /usr, or the directories themselves. */
function rootEntries(): string[] {
  return ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].flatMap((name) => {
    const path = `/${name}`;
    if (!existsSync(path)) return [];
    try {
      return ['--symlink', readlinkSync(path), path];
    } catch {
      return ['--ro-bind', path, path];
    }
  });
}

/** Volumes in memory have their size; those on the disk are directories of the folder. */
function volumeMounts({ spec, folder }: PodProcessOptions, { volumeMounts: mounts }: ContainerSpec): string[] {
  const volumes = new Map((spec['volumes'] as readonly PodVolume[]).map((volume) => [volume.name, volume.emptyDir]));
  return mounts.flatMap(({ name, mountPath, readOnly }) => {
    const { sizeLimit = '0', medium } = volumes.get(name) ?? {};
    if (medium === 'Memory') return ['--perms', '1777', '--size', sizeLimit, '--tmpfs', mountPath];
    const path = join(folder, name);
    mkdirSync(path, { recursive: true });
    chownSync(path, userOf(spec), GROUP);
    chmodSync(path, 0o777);
    return [readOnly === true ? '--ro-bind' : '--bind', path, mountPath];
  });
}

function write(child: ChildProcess, fd: number, content: string | Buffer): void {
  const streams: readonly unknown[] = child.stdio;
  const stream = streams[fd] as Duplex;
  // A start that fails early closes the reading end; its exit says why.
  stream.on('error', () => undefined);
  stream.resume().end(content);
}

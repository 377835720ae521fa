import { type CommandIdentity, DATA_DIRECTORIES, type DataDirectory, SKILLS_ROOT, VIRTUAL_ROOT } from '@caribou/core';
import { commandEnvironment, WORKING_DIRECTORY } from '../drivers/command-environment.js';
import { EGRESS_DIRECTORY, NODE_IN_SANDBOX } from '../drivers/sandbox-network.js';
import type { SandboxLimits } from '../drivers/settings.js';

/** Where bwrap finds what it mounts; paths as bwrap sees them. */
export interface BwrapSources {
  readonly data: Readonly<Record<DataDirectory, string>>;
  /** Directories that become /tmp and /dev/shm. */
  readonly memory: { readonly tmp: string; readonly shm: string };
  readonly skills?: string;
  /** The directory of the sandbox's egress; without it there is no network. */
  readonly egress?: string;
  /** Node's program file, where /usr does not have it. */
  readonly node?: string;
  /** Entries of the host's root besides /usr that programs need: links of a merged /usr, or directories. */
  readonly rootEntries: readonly RootEntry[];
}

export type RootEntry =
  | { readonly kind: 'link'; readonly target: string; readonly path: string }
  | { readonly kind: 'directory'; readonly path: string };

/** Numbers of the descriptors bwrap reads from or writes to. */
export interface BwrapDescriptors {
  readonly passwd: number;
  readonly group: number;
  readonly status: number;
  readonly seccomp?: number;
}

/** Host files below /etc that programs need and that reveal nothing about the host; each only if it exists. */
const ETC_FILES = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/magic',
  '/etc/mime.types',
];

/** Certificates of authorities, for sandboxes with a network; each only if it exists. */
const CERTIFICATES = [
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/ca-certificates/extracted',
];

const rootEntry = (entry: RootEntry): string[] =>
  entry.kind === 'link' ? ['--symlink', entry.target, entry.path] : ['--ro-bind', entry.path, entry.path];

const egressMounts = ({ egress, node }: BwrapSources): string[] =>
  egress === undefined
    ? []
    : [
        ...CERTIFICATES.flatMap((path) => ['--ro-bind-try', path, path]),
        ...['--ro-bind', egress, EGRESS_DIRECTORY],
        ...(node === undefined ? [] : ['--ro-bind', node, NODE_IN_SANDBOX]),
      ];

/**
 * bwrap's options, for --args. Every destination lies on bwrap's own root, never below a directory that a command can
 * write, so that no link left there is followed when the next sandbox is set up (CVE-2026-87766). That root and /dev
 * are read-only in the end, so a command cannot fill their memory.
 */
export function bwrapArguments(
  sources: BwrapSources,
  descriptors: BwrapDescriptors,
  { uid, gid }: CommandIdentity,
): string[] {
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent'],
    ...['--uid', String(uid), '--gid', String(gid)],
    ...['--cap-drop', 'ALL', '--hostname', 'sandbox', '--clearenv'],
    ...Object.entries(commandEnvironment(sources.egress !== undefined)).flatMap(([name, value]) => [
      '--setenv',
      name,
      value,
    ]),
    ...['--ro-bind', '/usr', '/usr', ...sources.rootEntries.flatMap(rootEntry)],
    ...ETC_FILES.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--file', String(descriptors.passwd), '/etc/passwd', '--file', String(descriptors.group), '/etc/group'],
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--bind', sources.memory.shm, '/dev/shm', '--remount-ro', '/dev', '--bind', sources.memory.tmp, '/tmp'],
    ...DATA_DIRECTORIES.flatMap((directory) => ['--bind', sources.data[directory], `${VIRTUAL_ROOT}/${directory}`]),
    ...(sources.skills === undefined ? [] : ['--ro-bind', sources.skills, SKILLS_ROOT]),
    ...egressMounts(sources),
    ...['--remount-ro', '/', '--chdir', WORKING_DIRECTORY],
    ...['--json-status-fd', String(descriptors.status)],
    ...(descriptors.seccomp === undefined ? [] : ['--seccomp', String(descriptors.seccomp)]),
  ];
}

/** prlimit's options for a command with a time limit. */
export function processLimits(limits: SandboxLimits, timeoutMs: number, maxFileBytes = limits.fileBytes): string[] {
  const cpuSeconds = Math.ceil(timeoutMs / 1000) + 5;
  return [
    `--as=${limits.memoryBytes}`,
    `--nproc=${limits.pids}`,
    `--fsize=${maxFileBytes}`,
    `--nofile=${limits.openFiles}`,
    `--cpu=${cpuSeconds}`,
    '--core=0',
  ];
}

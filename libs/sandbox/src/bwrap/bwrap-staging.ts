import type { SandboxLimits } from '../drivers/settings.js';

/**
 * Mounts that are made before bwrap starts, in a mount namespace of the command's own. A small tmpfs on `stage` has:
 *
 *   tmp, shm    the sandbox's /tmp and /dev/shm: bwrap's own --tmpfs bounds their bytes, but not how many files
 *               they have
 *   n … 1       directories that the user of commands cannot come to by path, bound by root
 *
 * Root does it where it has to bind; else the user of commands, as root of a user namespace, in which bwrap makes the
 * sandbox's.
 */

/** Files and directories in a sandbox's /tmp and /dev/shm; each takes about a kilobyte of the kernel's memory. */
const TMP_FILES = 65_536;
const SHM_FILES = 4096;
const SHM_BYTES = 64 * 1024 * 1024;

/**
 * $1 mount, $2 mkdir, $3 stage, $4 and $5 options of /tmp and /dev/shm, $6 how many paths follow; the rest is executed.
 */
const SCRIPT = `set -e
mount=$1; mkdir=$2; stage=$3; tmp=$4; shm=$5; left=$6; shift 6
"$mount" -t tmpfs -o size=64k,mode=0755,nosuid,nodev,noexec caribou "$stage"
"$mkdir" "$stage/tmp" "$stage/shm"
"$mount" -t tmpfs -o "$tmp" caribou "$stage/tmp"
"$mount" -t tmpfs -o "$shm" caribou "$stage/shm"
while [ "$left" -gt 0 ]; do
  "$mkdir" "$stage/$left"
  "$mount" --bind "$1" "$stage/$left"
  left=$((left - 1)); shift
done
exec "$@"`;

/** Programs by their absolute paths. */
export interface StagingPrograms {
  readonly unshare: string;
  readonly mount: string;
  readonly mkdir: string;
}

export interface Staging {
  readonly programs: StagingPrograms;
  /** A directory of the machine that hides nothing which is mounted. */
  readonly stage: string;
  readonly limits: SandboxLimits;
  /** Directories to bind, if root does it. */
  readonly paths: readonly string[];
}

const tmpfs = (bytes: number, files: number): string => `size=${bytes},nr_inodes=${files},mode=1777,nosuid,nodev`;

/** Where a sandbox's memory file systems are found. */
export const memoryDirectories = (stage: string): { readonly tmp: string; readonly shm: string } => ({
  tmp: `${stage}/tmp`,
  shm: `${stage}/shm`,
});

/** The arguments before a command line that run it behind the mounts, with an empty environment. */
export function stagingArguments({ programs, stage, limits, paths }: Staging, asUser: boolean): string[] {
  const { unshare, mount, mkdir } = programs;
  const options = [tmpfs(limits.tmpBytes, TMP_FILES), tmpfs(SHM_BYTES, SHM_FILES)];
  return [
    ...[unshare, ...(asUser ? ['--user', '--map-root-user'] : []), '--mount', '--propagation', 'private', '--'],
    ...['/bin/sh', '-c', SCRIPT, 'sh', mount, mkdir, stage, ...options, String(paths.length), ...paths],
  ];
}

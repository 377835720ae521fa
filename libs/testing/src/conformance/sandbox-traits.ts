import { release } from 'node:os';

/** The allowed differences between sandboxes; everything else is the same for all. */
export interface SandboxTraits {
  /** Lines of a process's status file with its restrictions, without blanks. */
  readonly confinement: readonly string[];
  /** Commands that attack the system; all must fail. */
  readonly systemAttempts: readonly string[];
  /** Commands that read the kernel's log; all must fail. */
  readonly kernelLogAttempts: readonly string[];
  /** Whether a filter checks the system calls of commands; else a separate kernel in the sandbox answers them. */
  readonly filtersSystemCalls: boolean;
  /** Whether the host sees a FIFO that a command creates among the files of its thread. */
  readonly showsFifos: boolean;
  /** Whether a command and the host see each other's changes of files at once; else they are exchanged before and after it. */
  readonly sharesFiles: boolean;
  /** Network interfaces that a command sees. */
  readonly interfaces: readonly string[];
  /** Whether a sandbox may have a user that no other has, instead of the one of all. */
  readonly mayHaveOwnUser: boolean;
  /** Whether entries of the kernel for programs of other kinds, and its more exotic sockets, are closed. */
  readonly closesForeignCalls: boolean;
}

const noCapabilities = (...sets: string[]): string[] => sets.map((set) => `${set}:0000000000000000`);

const anywhere = [
  'unshare -m true',
  'mount -t tmpfs none /tmp',
  'touch /x',
  'touch /usr/x',
  'touch /etc/x',
  'touch /dev/x',
  'mkdir /mnt/x',
];

/** Sandboxes whose processes run on the host's kernel. */
export const ON_MACHINE_KERNEL: SandboxTraits = {
  confinement: [...noCapabilities('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'), 'NoNewPrivs:1', 'Seccomp:2'],
  systemAttempts: ['unshare -U true', ...anywhere, 'mknod /tmp/n b 8 0'],
  kernelLogAttempts: ['dmesg'],
  filtersSystemCalls: true,
  showsFifos: true,
  sharesFiles: true,
  interfaces: ['lo'],
  closesForeignCalls: true,
  mayHaveOwnUser: false,
};

/** A host device named by a node in the sandbox's memory; gVisor allows the node, but has no such device. */
const deviceBehindNode = 'rm -f /tmp/n; mknod /tmp/n b 8 0; head -c 1 /tmp/n';

/**
 * Sandboxes with gVisor's kernel. The host's filter of system calls applies to that kernel and not to a process inside;
 * the process's status has no lines for ambient capabilities and new privileges, as there are none. A command may create
 * a user namespace, but its attacks fail as before. gVisor invents the kernel's log. It has its own io_uring, and applies
 * no profile to commands that an engine executes in a running sandbox: set-id modes reach the files, but the closed
 * directories above make them useless. A FIFO exists in gVisor's memory only.
 */
export const ON_GVISOR: SandboxTraits = {
  confinement: [...noCapabilities('CapInh', 'CapPrm', 'CapEff', 'CapBnd'), 'Seccomp:0'],
  systemAttempts: [...anywhere, deviceBehindNode].flatMap((attempt) => [attempt, `unshare -U sh -c '${attempt}'`]),
  kernelLogAttempts: ['dmesg | head -n 1 | grep -v gVisor', `dmesg | grep -F ${release()}`],
  filtersSystemCalls: false,
  showsFifos: false,
  sharesFiles: true,
  interfaces: ['lo'],
  closesForeignCalls: true,
  mayHaveOwnUser: false,
};

/**
 * Pods of a cluster: their files are exchanged with those of the host around a command, special files never. They have an
 * interface, which a network policy closes, and the filter of system calls that the node's runtime has by default.
 */
export const IN_POD: SandboxTraits = {
  ...ON_MACHINE_KERNEL,
  filtersSystemCalls: false,
  showsFifos: false,
  sharesFiles: false,
  interfaces: ['eth0', 'lo'],
  mayHaveOwnUser: true,
  closesForeignCalls: false,
};

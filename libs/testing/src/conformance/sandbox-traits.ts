import { release } from 'node:os';

/** Where sandboxes rightly differ. What is not here holds for every sandbox. */
export interface SandboxTraits {
  /** Lines of a process's own status file that say what it may not do, without their blanks. */
  readonly confinement: readonly string[];
  /** What a command may try against the system; every attempt must fail. */
  readonly systemAttempts: readonly string[];
  /** Looks at the kernel's log that must fail. */
  readonly kernelLogAttempts: readonly string[];
  /** Whether commands' system calls are judged by a filter; else a kernel of the sandbox's own answers them. */
  readonly filtersSystemCalls: boolean;
  /** Whether the machine sees a FIFO that a command makes among the files of its thread. */
  readonly showsFifos: boolean;
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

/** Sandboxes whose processes are processes of the machine's kernel. */
export const ON_MACHINE_KERNEL: SandboxTraits = {
  confinement: [...noCapabilities('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'), 'NoNewPrivs:1', 'Seccomp:2'],
  systemAttempts: ['unshare -U true', ...anywhere, 'mknod /tmp/n b 8 0'],
  kernelLogAttempts: ['dmesg'],
  filtersSystemCalls: true,
  showsFifos: true,
};

/**
 * A device of the machine that a node in the sandbox's own memory names; gVisor lets one be made, and knows no such
 * device.
 */
const deviceBehindNode = 'rm -f /tmp/n; mknod /tmp/n b 8 0; head -c 1 /tmp/n';

/**
 * Sandboxes with gVisor's kernel. That kernel is what a machine's filter of system calls holds back, so there is none
 * of the machine's around a process inside; its status has no line for ambient capabilities and new privileges, of
 * which there are none. A command may make a user namespace; what it then tries on the sandbox fails as before. The log
 * is one that gVisor makes up. It has rings (io_uring) of its own, and applies no profile to what an engine executes in
 * a sandbox that runs: modes with set-id bits reach the files, which the closed directories above them make useless. A
 * FIFO is kept in gVisor's memory only.
 */
export const ON_GVISOR: SandboxTraits = {
  confinement: [...noCapabilities('CapInh', 'CapPrm', 'CapEff', 'CapBnd'), 'Seccomp:0'],
  systemAttempts: [...anywhere, deviceBehindNode].flatMap((attempt) => [attempt, `unshare -U sh -c '${attempt}'`]),
  kernelLogAttempts: ['dmesg | head -n 1 | grep -v gVisor', `dmesg | grep -F ${release()}`],
  filtersSystemCalls: false,
  showsFifos: false,
};

/** System calls that are denied for some of their arguments only. */

/** What an argument must be for the rule to deny the call. */
export type Condition =
  | { readonly argument: number; readonly anyBitOf: number }
  | { readonly argument: number; readonly equals: number }
  | { readonly argument: number; readonly noneOf: readonly number[] };

export interface RestrictedSyscall {
  readonly name: string;
  /** As in DENIED_SYSCALLS. */
  readonly numbers: readonly [number, number];
  /** All must hold for the call to be denied. */
  readonly conditions: readonly Condition[];
  readonly errno: number;
}

export const EPERM = 1;
export const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const CLONE_NEW_ANY = 0x7e020000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const FAMILIES = [1, 2, 10, 16];
/** S_ISUID and S_ISGID. mkdir is not listed: the kernel leaves them out of the mode of a new directory. */
const SET_ID = 0o6000;
/** O_CREAT and the bit of O_TMPFILE: without them the mode is not read, and may be anything. */
const CREATES = 0o20000100;

const setIdMode = (name: string, numbers: RestrictedSyscall['numbers'], argument: number): RestrictedSyscall => ({
  name,
  numbers,
  errno: EPERM,
  conditions: [{ argument, anyBitOf: SET_ID }],
});

const setIdOpen = (name: string, numbers: RestrictedSyscall['numbers'], flags: number): RestrictedSyscall => ({
  name,
  numbers,
  errno: EPERM,
  conditions: [
    { argument: flags, anyBitOf: CREATES },
    { argument: flags + 1, anyBitOf: SET_ID },
  ],
});

const IOCTL = [16, 29] as const;

/** New namespaces, input pushed into a terminal, sockets other than local, IP and netlink, and set-id files. */
export const RESTRICTED_SYSCALLS: readonly RestrictedSyscall[] = [
  { name: 'clone', numbers: [56, 220], conditions: [{ argument: 0, anyBitOf: CLONE_NEW_ANY }], errno: EPERM },
  { name: 'ioctl', numbers: IOCTL, conditions: [{ argument: 1, equals: TIOCSTI }], errno: EPERM },
  { name: 'ioctl', numbers: IOCTL, conditions: [{ argument: 1, equals: TIOCLINUX }], errno: EPERM },
  { name: 'socket', numbers: [41, 198], conditions: [{ argument: 0, noneOf: FAMILIES }], errno: EAFNOSUPPORT },
  setIdMode('chmod', [90, -1], 1),
  setIdMode('fchmod', [91, 52], 1),
  setIdMode('fchmodat', [268, 53], 2),
  setIdMode('fchmodat2', [452, 452], 2),
  setIdMode('creat', [85, -1], 1),
  setIdMode('mknod', [133, -1], 1),
  setIdMode('mknodat', [259, 33], 2),
  setIdOpen('open', [2, -1], 1),
  setIdOpen('openat', [257, 56], 2),
];

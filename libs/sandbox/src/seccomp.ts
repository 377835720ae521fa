import { DENIED_SYSCALLS } from './denied-syscalls.js';

/**
 * A seccomp filter in classic BPF, as bwrap's --seccomp takes it: denied calls fail with EPERM, new namespaces by clone
 * and input pushed into a terminal as well; sockets other than local, IP and netlink do not exist. Everything else is
 * allowed: the filter narrows what the namespaces leave, it does not list what programs need.
 */

interface Architecture {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number;
  /** Place in the pairs of DENIED_SYSCALLS. */
  readonly column: 0 | 1;
  readonly clone: number;
  readonly ioctl: number;
  readonly socket: number;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, column: 0, clone: 56, ioctl: 16, socket: 41 },
  arm64: { audit: 0xc00000b7, column: 1, clone: 220, ioctl: 29, socket: 198 },
};
/** The same number on both architectures. */
const CLONE3 = 435;
/** On x86_64, numbers from here on are the x32 ABI: the same calls under other numbers. */
const X32_BIT = 0x40000000;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const CLONE_NEW_ANY = 0x7e020000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const failWith = (errno: number): number => 0x00050000 | errno;

/** Offsets in struct seccomp_data; of an argument, its low half (both architectures are little-endian). */
const NR = 0;
const ARCH = 4;
const argument = (index: number): number => 16 + 8 * index;

/** BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ, BPF_JMP|BPF_JGE, BPF_JMP|BPF_JSET, BPF_RET (all |BPF_K). */
const LD = 0x20;
const JEQ = 0x15;
const JGE = 0x35;
const JSET = 0x45;
const RET = 0x06;

interface Instruction {
  readonly code: number;
  readonly jt: number;
  readonly jf: number;
  readonly k: number;
}

const load = (offset: number): Instruction => ({ code: LD, jt: 0, jf: 0, k: offset });
const answer = (k: number): Instruction => ({ code: RET, jt: 0, jf: 0, k });
/** When the test holds, the following `length` instructions run; else they are skipped. */
const when = (code: number, k: number, length: number): Instruction => ({ code, jt: 0, jf: length, k });

/** Runs `body` for the call `nr`; `body` must answer on every path. */
const onCall = (nr: number, body: readonly Instruction[]): Instruction[] => [when(JEQ, nr, body.length), ...body];

const failWhen = (test: { code: number; k: number }, errno: number): Instruction[] => [
  when(test.code, test.k, 1),
  answer(failWith(errno)),
];

function program({ audit, column, clone, ioctl, socket }: Architecture): readonly Instruction[] {
  const denied = Object.values(DENIED_SYSCALLS).map((numbers) => numbers[column]);
  return [
    load(ARCH),
    { code: JEQ, jt: 1, jf: 0, k: audit },
    answer(KILL_PROCESS),
    load(NR),
    ...(column === 0 ? failWhen({ code: JGE, k: X32_BIT }, ENOSYS) : []),
    ...denied.filter((nr) => nr >= 0).flatMap((nr) => failWhen({ code: JEQ, k: nr }, EPERM)),
    // clone3 takes its flags through memory, which a filter cannot read; C libraries fall back to clone on ENOSYS.
    ...failWhen({ code: JEQ, k: CLONE3 }, ENOSYS),
    ...onCall(clone, [load(argument(0)), ...failWhen({ code: JSET, k: CLONE_NEW_ANY }, EPERM), answer(ALLOW)]),
    ...onCall(ioctl, [
      load(argument(1)),
      ...failWhen({ code: JEQ, k: TIOCSTI }, EPERM),
      ...failWhen({ code: JEQ, k: TIOCLINUX }, EPERM),
      answer(ALLOW),
    ]),
    ...onCall(socket, [
      load(argument(0)),
      ...[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK].flatMap((family) => [when(JEQ, family, 1), answer(ALLOW)]),
      answer(failWith(EAFNOSUPPORT)),
    ]),
    answer(ALLOW),
  ];
}

/** The filter's bytes (struct sock_filter, little-endian) for a Node architecture name, or null for an unknown one. */
export function seccompFilter(architecture: string): Buffer | null {
  const known = ARCHITECTURES[architecture];
  if (known === undefined) return null;
  return Buffer.concat(
    program(known).map(({ code, jt, jf, k }) => {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt16LE(code, 0);
      bytes.writeUInt8(jt, 2);
      bytes.writeUInt8(jf, 3);
      bytes.writeUInt32LE(k >>> 0, 4);
      return bytes;
    }),
  );
}

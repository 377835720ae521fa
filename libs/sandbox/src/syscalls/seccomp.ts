import { DENIED_SYSCALLS, UNSUPPORTED_SYSCALLS } from './denied-syscalls.js';
import { type Condition, ENOSYS, EPERM, RESTRICTED_SYSCALLS, type RestrictedSyscall } from './restricted-syscalls.js';

/**
 * A seccomp filter in classic BPF, as bwrap's --seccomp takes it: what DENIED_SYSCALLS lists fails with EPERM, and what
 * RESTRICTED_SYSCALLS lists for the arguments it names. Everything else is allowed: the filter narrows what the namespaces
 * leave, it does not list what programs need.
 */

interface Architecture {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number;
  /** Index in the pairs of DENIED_SYSCALLS. */
  readonly column: 0 | 1;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
};
/** On x86_64, numbers from here on are the x32 ABI: the same calls under other numbers. */
const X32_BIT = 0x40000000;

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

/** Runs `body` for the call `nr`. */
const onCall = (nr: number, body: readonly Instruction[]): Instruction[] => [when(JEQ, nr, body.length), ...body];

const failOn = (nr: number, errno: number): Instruction[] => onCall(nr, [answer(failWith(errno))]);

/** Runs `then` when the condition holds, else continues after it. */
function onCondition(condition: Condition, then: readonly Instruction[]): Instruction[] {
  const value = load(argument(condition.argument));
  if ('anyBitOf' in condition) return [value, when(JSET, condition.anyBitOf, then.length), ...then];
  if ('equals' in condition) return [value, when(JEQ, condition.equals, then.length), ...then];
  const { noneOf } = condition;
  const skips = noneOf.map((k, at) => ({ code: JEQ, jt: noneOf.length - 1 - at + then.length, jf: 0, k }));
  return [value, ...skips, ...then];
}

const denyWhen = ({ conditions, errno }: RestrictedSyscall): Instruction[] =>
  conditions.reduceRight((then, condition) => onCondition(condition, then), [answer(failWith(errno))]);

/** Applies the rule to the call `nr`, and loads the number again for the next rules when the call is not denied. */
const judge = (rule: RestrictedSyscall, nr: number): Instruction[] => onCall(nr, [...denyWhen(rule), load(NR)]);

function program({ audit, column }: Architecture): readonly Instruction[] {
  const numbers = (calls: Readonly<Record<string, readonly [number, number]>>): number[] =>
    Object.values(calls).flatMap((both) => (both[column] < 0 ? [] : [both[column]]));
  return [
    load(ARCH),
    { code: JEQ, jt: 1, jf: 0, k: audit },
    answer(KILL_PROCESS),
    load(NR),
    ...(column === 0 ? [when(JGE, X32_BIT, 1), answer(failWith(ENOSYS))] : []),
    ...numbers(DENIED_SYSCALLS).flatMap((nr) => failOn(nr, EPERM)),
    ...numbers(UNSUPPORTED_SYSCALLS).flatMap((nr) => failOn(nr, ENOSYS)),
    ...RESTRICTED_SYSCALLS.flatMap((rule) => (rule.numbers[column] < 0 ? [] : judge(rule, rule.numbers[column]))),
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

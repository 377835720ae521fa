import { DENIED_SYSCALLS, UNSUPPORTED_SYSCALLS } from './denied-syscalls.js';
import { type Condition, ENOSYS, EPERM, RESTRICTED_SYSCALLS } from './restricted-syscalls.js';

/** The filter of seccomp.ts as container engines take it: the profile of `SecurityOpt: seccomp=…`. */

/** One comparison of libseccomp; masked: (argument & value) == valueTwo. */
interface Comparison {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_GT' | 'SCMP_CMP_MASKED_EQ';
}

interface ProfileRule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ERRNO';
  readonly errnoRet: number;
  readonly args?: readonly Comparison[];
}

export interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ALLOW';
  readonly architectures: readonly string[];
  readonly syscalls: readonly ProfileRule[];
}

/** Calls by any other architecture end the process. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' };

const bitsOf = (mask: number): number[] =>
  Array.from({ length: 31 }, (_, shift) => 2 ** shift).filter((bit) => (mask & bit) !== 0);

/** The comparisons of which one holds exactly when the condition does: a rule can only say that all of its own hold. */
function alternatives(condition: Condition): Comparison[] {
  const { argument: index } = condition;
  if ('anyBitOf' in condition)
    return bitsOf(condition.anyBitOf).map((bit) => ({ index, value: bit, valueTwo: bit, op: 'SCMP_CMP_MASKED_EQ' }));
  if ('equals' in condition) {
    const low = 0xffffffff;
    return [{ index, value: low, valueTwo: condition.equals, op: 'SCMP_CMP_MASKED_EQ' }];
  }
  const highest = Math.max(...condition.noneOf);
  const gaps = Array.from({ length: highest }, (_, value) => value).filter(
    (value) => !condition.noneOf.includes(value),
  );
  return [
    { index, value: highest, op: 'SCMP_CMP_GT' },
    ...gaps.map((value): Comparison => ({ index, value, op: 'SCMP_CMP_EQ' })),
  ];
}

/** Every choice of one comparison for each condition. */
const combinations = (conditions: readonly Condition[]): Comparison[][] =>
  conditions.reduce<Comparison[][]>(
    (begun, condition) => begun.flatMap((args) => alternatives(condition).map((next) => [...args, next])),
    [[]],
  );

const deny = (names: readonly string[], errnoRet: number): ProfileRule => ({
  names,
  action: 'SCMP_ACT_ERRNO',
  errnoRet,
});

/** The profile for a Node architecture name, or null for an unknown one. */
export function seccompProfile(architecture: string): SeccompProfile | null {
  const known = ARCHITECTURES[architecture];
  if (known === undefined) return null;
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    architectures: [known],
    syscalls: [
      deny(Object.keys(DENIED_SYSCALLS), EPERM),
      deny(Object.keys(UNSUPPORTED_SYSCALLS), ENOSYS),
      ...RESTRICTED_SYSCALLS.flatMap(({ name, conditions, errno }) =>
        combinations(conditions).map((args) => ({ ...deny([name], errno), args })),
      ),
    ],
  };
}

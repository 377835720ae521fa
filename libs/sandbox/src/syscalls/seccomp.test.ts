import { DENIED_SYSCALLS } from './denied-syscalls.js';
import { RESTRICTED_SYSCALLS } from './restricted-syscalls.js';
import { seccompProfile } from './oci-seccomp.js';
import { seccompFilter } from './seccomp.js';

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;

/** What the kernel's interpreter answers for a call: the four instructions that the filter is made of. */
function answerOf(filter: Buffer, call: { arch: number; nr: number; args?: readonly number[] }): number {
  const data = new Map([
    [0, call.nr],
    [4, call.arch],
    ...(call.args ?? []).map((value, index): [number, number] => [16 + 8 * index, value]),
  ]);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const [code, jt, jf, k] = [
      filter.readUInt16LE(at * 8),
      filter.readUInt8(at * 8 + 2),
      filter.readUInt8(at * 8 + 3),
      filter.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x06) return k;
    if (code === 0x20) accumulator = data.get(k) ?? 0;
    else if (code === 0x15) at += accumulator === k ? jt : jf;
    else if (code === 0x35) at += accumulator >= k ? jt : jf;
    else if (code === 0x45) at += (accumulator & k) !== 0 ? jt : jf;
    else throw new Error(`instruction ${code}`);
  }
  throw new Error('fell off the end');
}

const machines = [
  { name: 'x64', arch: 0xc000003e, column: 0, clone: 56, ioctl: 16, socket: 41, read: 0 },
  { name: 'arm64', arch: 0xc00000b7, column: 1, clone: 220, ioctl: 29, socket: 198, read: 63 },
] as const;

describe.each(machines)('seccompFilter for $name', ({ name, arch, column, clone, ioctl, socket, read }) => {
  const filter = seccompFilter(name) ?? Buffer.alloc(0);
  const answer = (nr: number, ...args: number[]): number => answerOf(filter, { arch, nr, args });

  test('denies every listed call and allows ordinary ones', () => {
    for (const [call, numbers] of Object.entries(DENIED_SYSCALLS)) {
      if (numbers[column] >= 0) expect([call, answer(numbers[column])]).toEqual([call, EPERM]);
    }
    expect(answer(read)).toBe(ALLOW);
  });

  test('allows threads and processes by clone, but no new namespace', () => {
    const thread = 0x003d0f00;
    expect(answer(clone, thread)).toBe(ALLOW);
    for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(answer(clone, thread | flag)).toBe(EPERM);
    }
    expect(answer(435)).toBe(ENOSYS);
  });

  test('denies modes with set-id bits to whatever makes a file or changes its mode, and openat2 altogether', () => {
    for (const { name: call, numbers, conditions } of RESTRICTED_SYSCALLS) {
      const [mode, flags] = [...conditions].reverse();
      if (mode === undefined || !('anyBitOf' in mode) || mode.anyBitOf !== 0o6000 || numbers[column] < 0) continue;
      const given = (bits: number, openFlags: number): number[] =>
        Array.from({ length: 4 }, (_, at) => (at === mode.argument ? bits : at === flags?.argument ? openFlags : 0));
      for (const creating of [0o100, 0o20200000]) {
        for (const bits of [0o4755, 0o2755, 0o6000])
          expect([call, answer(numbers[column], ...given(bits, creating))]).toEqual([call, EPERM]);
        expect([call, answer(numbers[column], ...given(0o1777, creating))]).toEqual([call, ALLOW]);
      }
      if (flags !== undefined) expect(answer(numbers[column], ...given(0o7777, 0))).toBe(ALLOW);
    }
    expect(answer(437)).toBe(ENOSYS);
  });

  test('denies input pushed into a terminal and sockets of odd families', () => {
    expect(answer(ioctl, 0, 0x5412)).toBe(EPERM);
    expect(answer(ioctl, 0, 0x541c)).toBe(EPERM);
    expect(answer(ioctl, 0, 0x5401)).toBe(ALLOW);
    for (const family of [1, 2, 10, 16]) expect(answer(socket, family)).toBe(ALLOW);
    for (const family of [0, 17, 38, 40]) expect(answer(socket, family)).toBe(EAFNOSUPPORT);
  });

  test('ends a process that calls by another architecture', () => {
    expect(answerOf(filter, { arch: 0x40000003, nr: read })).toBe(KILL);
  });
});

describe('seccompFilter', () => {
  test('denies the x32 numbers of x86_64', () => {
    expect(answerOf(seccompFilter('x64') ?? Buffer.alloc(0), { arch: 0xc000003e, nr: 0x40000000 + 101 })).toBe(ENOSYS);
  });

  test('answers null for an architecture it does not know', () => {
    expect(seccompFilter('riscv64')).toBeNull();
  });
});

describe('seccompProfile', () => {
  /** Whether a profile's rule holds for arguments, as libseccomp compares them. */
  const matches = (args: readonly { index: number; value: number; valueTwo?: number; op: string }[], given: number[]) =>
    args.every(({ index, value, valueTwo, op }) => {
      const argument = given[index] ?? 0;
      if (op === 'SCMP_CMP_GT') return argument > value;
      return op === 'SCMP_CMP_EQ' ? argument === value : (argument & value) >>> 0 === valueTwo;
    });

  test.each(machines)('answers as the filter does, for each judged call of $name', ({ name, arch, column }) => {
    const filter = seccompFilter(name) ?? Buffer.alloc(0);
    const rules = seccompProfile(name)?.syscalls ?? [];
    const samples = [
      0, 1, 2, 3, 16, 17, 40, 0o100, 0o755, 0o1777, 0o2755, 0o4755, 0x5412, 0x541c, 0o20200002, 0x10000000,
    ];
    const pairs = samples.flatMap((first) => samples.map((second) => [first, second]));
    const differing = RESTRICTED_SYSCALLS.filter(({ numbers }) => numbers[column] >= 0).flatMap(
      ({ name: call, numbers }) =>
        pairs
          .flatMap(([first = 0, second = 0]) => [
            [first, second, 0, 0],
            [0, first, second, 0],
            [0, 0, first, second],
          ])
          .filter((args) => {
            const rule = rules.find(({ names, args: wanted }) => names.includes(call) && matches(wanted ?? [], args));
            const expected = rule === undefined ? ALLOW : 0x50000 | rule.errnoRet;
            return answerOf(filter, { arch, nr: numbers[column], args }) !== expected;
          })
          .map((args) => [call, args]),
    );
    expect(differing).toEqual([]);
  });

  test('names every denied call, and no architecture but the machine’s', () => {
    const profile = seccompProfile('x64');
    expect(profile?.architectures).toEqual(['SCMP_ARCH_X86_64']);
    expect(profile?.syscalls[0]).toMatchObject({ names: Object.keys(DENIED_SYSCALLS), errnoRet: 1 });
    expect(seccompProfile('riscv64')).toBeNull();
  });
});

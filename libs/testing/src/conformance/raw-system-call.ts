/**
 * Programs for x86_64 that make one system call without a C library, so that sandboxes need no compiler.
 */
export interface RawCall {
  /** `int80` is the 32-bit entry, with the numbers of i386. */
  readonly entry: 'syscall' | 'int80';
  readonly nr: number;
  /** At most four; a string, a character for a byte, is passed by its address. */
  readonly args: readonly (number | string)[];
}

const BASE = 0x400000;
const HEADERS_BYTES = 64 + 56;
/** mov edi / esi / edx / r10d, imm32; and ebx / ecx / edx / esi for the 32-bit entry. */
const REGISTERS = {
  syscall: [[0xbf], [0xbe], [0xba], [0x41, 0xba]],
  int80: [[0xbb], [0xb9], [0xba], [0xbe]],
} as const;
const MOV_EAX = 0xb8;
const ENTRY = { syscall: [0x0f, 0x05], int80: [0xcd, 0x80] } as const;
/** Exits with 0 when the call succeeded, else with the number of its error. */
const EXIT_WITH_ERRNO = [
  ...[0x85, 0xc0, 0x78, 0x02, 0x31, 0xc0], // test eax, eax; js over; xor eax, eax
  ...[0xf7, 0xd8, 0x89, 0xc7], // over: neg eax; mov edi, eax
  ...[0xb8, 60, 0, 0, 0, 0x0f, 0x05], // exit(edi)
];

const imm32 = (value: number): number[] => [...Buffer.from(new Int32Array([value]).buffer)];

/** The program file; it ends with the number of the call's error, or with 0. */
export function rawCallProgram({ entry, nr, args }: RawCall): Buffer {
  const codeBytes = (texts: readonly number[]): number[] => [
    ...args.flatMap((arg, index) => [
      ...(REGISTERS[entry][index] ?? []),
      ...imm32(typeof arg === 'number' ? arg : (texts[index] ?? 0)),
    ]),
    ...[MOV_EAX, ...imm32(nr), ...ENTRY[entry], ...EXIT_WITH_ERRNO],
  ];
  let end = BASE + HEADERS_BYTES + codeBytes([]).length;
  const texts = args.map((arg) => {
    const address = end;
    end += typeof arg === 'string' ? arg.length + 1 : 0;
    return address;
  });
  const strings = args.map((arg) => (typeof arg === 'string' ? `${arg}\0` : '')).join('');
  const body = Buffer.concat([Buffer.from(codeBytes(texts)), Buffer.from(strings, 'latin1')]);
  return Buffer.concat([headers(HEADERS_BYTES + body.length), body]);
}

/** An ELF header and one segment that is readable, writable and executable. */
function headers(fileBytes: number): Buffer {
  const bytes = Buffer.alloc(HEADERS_BYTES);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  bytes.writeUInt16LE(2, 16); // ET_EXEC
  bytes.writeUInt16LE(62, 18); // EM_X86_64
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(BASE + HEADERS_BYTES), 24);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(1, 64); // PT_LOAD
  bytes.writeUInt32LE(7, 68);
  bytes.writeBigUInt64LE(BigInt(BASE), 80);
  bytes.writeBigUInt64LE(BigInt(BASE), 88);
  bytes.writeBigUInt64LE(BigInt(fileBytes), 96);
  bytes.writeBigUInt64LE(BigInt(fileBytes), 104);
  bytes.writeBigUInt64LE(4096n, 112);
  return bytes;
}

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import fc from 'fast-check';
import { errnoOf } from '@caribou/core';

/** One change of a directory tree. Numbers choose among what is there when it is made. */
export interface RandomChange {
  readonly kind: 'write' | 'remove' | 'rename' | 'chmod' | 'link' | 'mkdir' | 'swap' | 'edit' | 'touch' | 'hole';
  readonly at: number;
  readonly to: number;
  readonly bytes: number;
}

export const randomChange: fc.Arbitrary<RandomChange> = fc.record({
  kind: fc.constantFrom(
    'write',
    'write',
    'remove',
    'rename',
    'chmod',
    'link',
    'mkdir',
    'swap',
    'edit',
    'touch',
    'hole',
  ),
  at: fc.nat(1_000),
  to: fc.nat(1_000),
  bytes: fc.oneof(fc.nat(40), fc.nat(6_000), fc.constantFrom(0, 511, 512, 4_096, 20_000)),
});

const NAMES = [
  'a',
  'A',
  'b',
  'Readme',
  'README',
  'with space',
  'line\nbreak',
  '-n',
  '*',
  '\xff\xfe invalid',
  'caf\xc3\xa9',
  '.hidden',
  'x'.repeat(255),
  '\\',
  '\x01',
].map((name) => Buffer.from(name, 'latin1'));
const MODES = [0o644, 0o600, 0o755, 0o400, 0o000, 0o777];
const refused = new Set([
  'ENOENT',
  'EEXIST',
  'ENOTDIR',
  'EISDIR',
  'ENOTEMPTY',
  'EINVAL',
  'ENAMETOOLONG',
  'ELOOP',
  'EBUSY',
]);

const join = (directory: Buffer, name: Buffer): Buffer => Buffer.concat([directory, Buffer.from('/'), name]);
const pick = <T>(items: readonly T[], at: number): T => items[at % items.length] as T;

function entriesBelow(roots: readonly string[]): { readonly directories: Buffer[]; readonly all: Buffer[] } {
  const directories: Buffer[] = roots.map((root) => Buffer.from(root));
  const all: Buffer[] = [];
  for (let at = 0; at < directories.length && at < 60; at += 1) {
    const directory = directories[at] as Buffer;
    for (const name of readdirSync(directory, { encoding: 'buffer' })) {
      const path = join(directory, name);
      all.push(path);
      if (lstatSync(path).isDirectory() && path.byteLength < 2_000) directories.push(Buffer.from(path));
    }
  }
  return { directories, all };
}

/** Makes a change below the directories; one that is not possible there is left out. Needs to be root, whom no mode stops. */
export function makeChange(roots: readonly string[], change: RandomChange): void {
  try {
    makeIfPossible(roots, change);
  } catch (error) {
    if (!refused.has(errnoOf(error) ?? '')) throw error;
  }
}

/** What a change has to do with: a path that may be new, one that is there, and another directory's. */
interface Places {
  readonly fresh: Buffer;
  readonly present: Buffer;
  readonly elsewhere: Buffer;
}

const isLink = (path: Buffer): boolean => lstatSync(path).isSymbolicLink();

const acts: Readonly<Record<RandomChange['kind'], (places: Places, change: RandomChange) => void>> = {
  write: ({ fresh }, change) => writeFileSync(fresh, contentOf(change), { mode: 0o644 }),
  mkdir: ({ fresh }) => mkdirSync(fresh),
  link: ({ fresh }, { at }) => symlinkSync(pick(NAMES, at).toString('utf8'), fresh),
  remove: ({ present }) => rmSync(present, { recursive: true, force: true }),
  rename: ({ present, elsewhere }) => renameSync(present, elsewhere),
  chmod: ({ present }, { to }) => (isLink(present) ? undefined : chmodSync(present, pick(MODES, to))),
  swap: ({ present }, change) => {
    const wasDirectory = lstatSync(present).isDirectory();
    rmSync(present, { recursive: true });
    if (wasDirectory) writeFileSync(present, contentOf(change));
    else mkdirSync(present);
  },
  edit: ({ present }, change) => (lstatSync(present).isFile() ? writeFileSync(present, contentOf(change)) : undefined),
  touch: ({ present }, { at, to }) => (isLink(present) ? undefined : utimesSync(present, at, to * 1_000 + 0.25)),
  hole: ({ fresh }, { bytes }) => {
    writeFileSync(fresh, 'x');
    truncateSync(fresh, 10_000 + bytes);
  },
};

const contentOf = ({ at, to, bytes }: RandomChange): Buffer => Buffer.alloc(bytes, `${at}:${to}`);

function makeIfPossible(roots: readonly string[], change: RandomChange): void {
  const { at, to, bytes } = change;
  const { directories, all } = entriesBelow(roots);
  const fresh = join(pick(directories, at), pick(NAMES, to));
  const elsewhere = join(pick(directories, to), pick(NAMES, bytes));
  acts[change.kind]({ fresh, elsewhere, present: all.length === 0 ? fresh : pick(all, at) }, change);
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zipFile } from '@caribou/testing';
import { ZipFile } from 'yazl';
import { SkillRejectedError } from './skill-rejected.js';
import { zipOf } from './testing/zip-of.js';
import { type UnpackedSkill, unpackSkill } from './unpack-skill.js';

const SKILL = '---\nname: chart\ndescription: Draws charts.\nallowed-tools: [bash]\n---\n# How\n';
const MiB = 1024 * 1024;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-skill-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Files as they were written; large ones as their size. */
type Written = Record<string, string | number>;

interface Unpacked {
  readonly skill: UnpackedSkill;
  readonly written: Written;
  readonly programs: readonly string[];
}

async function unpack(archive: Uint8Array, signal = new AbortController().signal): Promise<Unpacked> {
  const path = join(folder, 'x.skill');
  writeFileSync(path, archive);
  const written: Written = {};
  const programs: string[] = [];
  const handle = await open(path);
  try {
    const stage = {
      write: async (
        segments: readonly string[],
        content: AsyncIterable<Uint8Array>,
        options: { isProgram: boolean },
      ) => {
        const chunks: Uint8Array[] = [];
        let bytes = 0;
        for await (const chunk of content) {
          bytes += chunk.byteLength;
          if (bytes < MiB) chunks.push(chunk);
        }
        written[segments.join('/')] = bytes < MiB ? Buffer.concat(chunks).toString() : bytes;
        if (options.isProgram) programs.push(segments.join('/'));
        return bytes;
      },
    };
    return { skill: await unpackSkill(await zipOf(handle), stage, signal), written, programs };
  } finally {
    await handle.close();
  }
}

async function refusal(archive: Uint8Array): Promise<string> {
  const error: unknown = await unpack(archive).then(
    () => new Error('it was unpacked'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof SkillRejectedError)) throw error;
  return error.message;
}

type Entry = readonly [name: string, content: string | Buffer, mode?: number];

async function archiveOf(...entries: readonly Entry[]): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content, mode] of entries)
    file.addBuffer(Buffer.from(content), name, {
      compress: content.length > 0,
      ...(mode === undefined ? {} : { mode }),
    });
  file.end();
  return buffer(file.outputStream);
}

/** An archive with a name that no archiver writes; both must be as long in bytes. */
async function renamed(from: string, to: string): Promise<Buffer> {
  const archive = await archiveOf(['SKILL.md', SKILL], [from, 'evil']);
  return Buffer.from(archive.toString('latin1').replaceAll(from, Buffer.from(to).toString('latin1')), 'latin1');
}

/** Where the central directory says something about the last entry. */
const lastEntryAt = (archive: Buffer): number => archive.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));

describe(unpackSkill, () => {
  test('unpacks a skill with its resources, and returns its metadata', async () => {
    const { skill, written, programs } = await unpack(
      await archiveOf(['scripts/draw.py', '#!/usr/bin/env python3', 0o100755], ['SKILL.md', SKILL], ['empty', '']),
    );
    expect(skill).toEqual({
      name: 'chart',
      description: 'Draws charts.',
      license: null,
      allowedTools: ['bash'],
      bytes: Buffer.byteLength(SKILL) + 22,
      // Records of skills have it: later versions must compute the same.
      contentSha256: '8a7ea2378ca46684cb9e1bcdb86a73397f9630a116d688de8e1f6648012a71aa',
    });
    expect(written).toEqual({ 'SKILL.md': SKILL, 'scripts/draw.py': '#!/usr/bin/env python3', empty: '' });
    expect(programs).toEqual(['scripts/draw.py']);
  });

  test('removes a single top-level directory, and skips metadata of archivers', async () => {
    const { written } = await unpack(
      await archiveOf(
        ['my chart/SKILL.md', SKILL],
        ['my chart/.hidden/x', 'kept'],
        ['__MACOSX/my chart/._SKILL.md', 'aside'],
        ['.DS_Store', 'aside'],
      ),
    );
    expect(written).toEqual({ 'SKILL.md': SKILL, '.hidden/x': 'kept' });
  });

  test('several directories are the archive itself, which then lacks its SKILL.md', async () => {
    expect(await refusal(await archiveOf(['a/x', 'x'], ['b/y', 'y']))).toMatch(/^Invalid skill: SKILL\.md not found/);
    expect(await refusal(await archiveOf(['skill.md', SKILL]))).toMatch(/^Invalid skill: SKILL\.md not found/);
  });

  test('an invalid, empty or damaged archive', async () => {
    expect(await refusal(Buffer.from('no archive at all'))).toBe('the file is not a ZIP archive');
    expect(await refusal(Buffer.alloc(0))).toBe('the file is not a ZIP archive');
    expect(await refusal(await archiveOf())).toBe('the archive is empty');
    expect(await refusal(await archiveOf(['__MACOSX/SKILL.md', SKILL], ['.x/SKILL.md', SKILL]))).toBe(
      'the archive is empty',
    );
    const whole = await archiveOf(['SKILL.md', SKILL.repeat(100)]);
    expect(await refusal(whole.subarray(0, whole.length - 10))).toBe('the file is not a ZIP archive');
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, 45, 60);
    expect(await refusal(damaged)).toBe('the member cannot be unpacked: "SKILL.md"');
    const other = await zipFile({ 'SKILL.md': SKILL, 'x.txt': 'abcdefgh' });
    other.writeUInt32LE(1, lastEntryAt(other) + 16);
    expect(await refusal(other)).toBe('the member cannot be unpacked: "x.txt"');
  });

  test.each([
    ['climbs', 'aa/evil', '../evil'],
    ['climbs in the middle', 'a/bb/evil', 'a/../evil'],
    ['climbs at the end', 'a/evil', 'a/b/..'],
    ['is absolute', 'a-evil', '/evil!'],
    ['is absolute on Windows', 'aaa/evil', 'C:/aevil'],
    ['has backslashes', 'aa/evil', '..\\evil'],
    ['has a colon', 'a-evil', 'a:evil'],
    ['has a NUL', 'a-evil', 'a\0evil'],
    ['has a line break', 'a-evil', 'a\nevil'],
    ['has an empty part', 'aa/evil', 'a//evil'],
    ['has a dot for a part', 'aa/b/evil', 'aa/./evil'],
  ])('a member that %s is refused', async (_, from, to) => {
    expect(await refusal(await renamed(from, to))).toMatch(/^unsafe member path: "/);
  });

  test('members with long names or deep paths are refused', async () => {
    for (const name of ['n'.repeat(256), `${'d/'.repeat(16)}x`, `${'long-name/'.repeat(15)}${'x'.repeat(900)}`])
      expect(await refusal(await archiveOf(['SKILL.md', SKILL], [name, 'x']))).toMatch(/^unsafe member path/);
  });

  test('members that leave the folder are refused even among skipped ones', async () => {
    expect(await refusal(await renamed('.aaa/../evil'.replace('..', 'bb'), '.aaa/../evil'))).toMatch(
      /^unsafe member path/,
    );
  });

  test('links and other entries that are not regular files', async () => {
    expect(await refusal(await archiveOf(['SKILL.md', SKILL], ['etc', '/etc/passwd', 0o120777]))).toBe(
      'the member is a symbolic link: "etc"',
    );
    for (const type of [0o010000, 0o020000, 0o060000, 0o140000, 0o040000])
      expect(await refusal(await archiveOf(['SKILL.md', SKILL], ['x', '', type | 0o644]))).toBe(
        'the member is not a regular file: "x"',
      );
  });

  test('duplicate members, and members that are file and directory', async () => {
    for (const [one, two] of [
      ['a', 'a'],
      ['a', 'a/b'],
      ['a/b', 'a'],
      ['SKILL.md', 'SKILL.md/x'],
    ] as const)
      expect(await refusal(await archiveOf(['SKILL.md', SKILL], [one, '1'], [two, '2']))).toMatch(
        /^the member is a duplicate/,
      );
  });

  test('encrypted members', async () => {
    const archive = await archiveOf(['SKILL.md', SKILL], ['x', 'secret']);
    const at = lastEntryAt(archive);
    archive.writeUInt16LE(archive.readUInt16LE(at + 8) | 1, at + 8);
    expect(await refusal(archive)).toBe('the member is encrypted: "x"');
  });

  test('more entries than a skill may have', async () => {
    const entries = Array.from({ length: 4_096 }, (_, at): Entry => [`f${at}`, '']);
    expect(await refusal(await archiveOf(['SKILL.md', SKILL], ...entries))).toBe(
      'the archive has more than 4096 entries',
    );
    expect((await unpack(await archiveOf(['SKILL.md', SKILL], ...entries.slice(1)))).skill.name).toBe('chart');
  });

  test('bombs: by what they declare, before anything is unpacked', async () => {
    const archive = await archiveOf(['SKILL.md', SKILL], ['a', 'x'], ['b', 'x']);
    for (
      let at = archive.indexOf('PK\u0001\u0002', 0, 'latin1');
      at !== -1;
      at = archive.indexOf('PK\u0001\u0002', at + 4, 'latin1')
    )
      archive.writeUInt32LE(300 * MiB, at + 24);
    expect(await refusal(archive)).toBe(`the archive unpacks to more than ${512 * MiB} bytes`);
  });

  test('bombs: what lies about its size ends where the lie does', async () => {
    const lying = await archiveOf(['SKILL.md', SKILL], ['zeros', Buffer.alloc(20 * MiB)]);
    lying.writeUInt32LE(10, lastEntryAt(lying) + 24);
    expect(await refusal(lying)).toBe('the member cannot be unpacked: "zeros"');
    const unpacked = await unpack(await archiveOf(['SKILL.md', SKILL], ['zeros', Buffer.alloc(20 * MiB)]));
    expect(unpacked.written['zeros']).toBe(20 * MiB);
  });

  test('a SKILL.md within the skill', async () => {
    expect(await refusal(await archiveOf(['SKILL.md', SKILL], ['inner/SKILL.md', SKILL]))).toBe(
      'a skill within the skill: "inner/SKILL.md"',
    );
    expect(await refusal(await archiveOf(['SKILL.md', SKILL], ['inner/skill.md', SKILL]))).toMatch(/^a skill within/);
  });

  test.each([
    ['ELF', Buffer.from('7f454c4602010100', 'hex')],
    ['Mach-O', Buffer.from('cffaedfe07000001', 'hex')],
    ['a fat Mach-O', Buffer.from('cafebabe00000002', 'hex')],
    ['a Windows program', Buffer.from('MZ\u0090\0\u0003\0', 'latin1')],
  ])('%s, whatever its name says', async (_, content) => {
    expect(await refusal(await archiveOf(['SKILL.md', SKILL], ['notes.txt', content]))).toBe(
      'the member is a compiled program: "notes.txt"',
    );
  });

  test('a text that only begins like a program is one', async () => {
    expect((await unpack(await archiveOf(['SKILL.md', SKILL], ['x.txt', 'MZ is a name.']))).written['x.txt']).toBe(
      'MZ is a name.',
    );
  });

  test('an invalid SKILL.md', async () => {
    expect(await refusal(await archiveOf(['SKILL.md', '# How']))).toMatch(/^Invalid skill: SKILL\.md must begin/);
    expect(await refusal(await archiveOf(['SKILL.md', SKILL.replace('chart', 'Chart')]))).toMatch(
      /^Invalid skill: .*name/,
    );
    expect(await refusal(await archiveOf(['SKILL.md', Buffer.from('---\nname: \xff\n---\n', 'latin1')]))).toBe(
      'Invalid skill: SKILL.md is not UTF-8',
    );
    expect(await refusal(await archiveOf(['SKILL.md', SKILL + 'x'.repeat(256 * 1024)]))).toBe(
      'Invalid skill: SKILL.md has more than 262144 bytes',
    );
  });

  test('stops when its signal is aborted', async () => {
    const archive = await archiveOf(['SKILL.md', SKILL]);
    await expect(unpack(archive, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });
});

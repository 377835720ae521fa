import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { newId } from '@caribou/contracts';
import { commandIdentity } from '@caribou/core';
import { type FileRefusal, FileRefusedError } from '../file-refused.js';
import { findFiles, listDirectory, searchLines } from '../lookup/find-files.js';
import { type SkillFiles, skillFiles } from './skill-files.js';
import { type SkillPackage, SkillViews } from './skill-views.js';
import { type ThreadFiles, threadFiles } from '../thread-files.js';

let home: string;
let files: SkillFiles;
let views: SkillViews;

const USER = 'u1';
const skills = (...names: readonly string[]): string => join(home, 'users', USER, 'skills', ...names);
const listed = (path: string): readonly string[] => (existsSync(path) ? readdirSync(path).sort() : []);
const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
const HOUR_MS = 3_600_000;
const makeOld = (path: string, ms: number): void => {
  const seconds = (Date.now() - ms) / 1_000;
  utimesSync(path, seconds, seconds);
};

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

async function install(content: Readonly<Record<string, string>>): Promise<string> {
  const id = newId();
  const staging = await files.openStaging(USER);
  for (const [path, text] of Object.entries(content))
    await staging.write(path.split('/'), chunks(text), { isProgram: path.endsWith('.sh') });
  await staging.publish(id);
  await staging.close();
  return id;
}

const installed = (id: string, name = 'mine'): SkillPackage => ({
  place: ['custom', name],
  source: { kind: 'installed', id },
});

/** A skill of a folder outside the data volume. */
function folder(name: string, content: Readonly<Record<string, string>>): SkillPackage {
  const directory = join(home, 'product', name);
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text, { mode: path.endsWith('.sh') ? 0o777 : 0o600 });
  }
  return { place: ['public', name], source: { kind: 'folder', directory, fingerprint: JSON.stringify(content) } };
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'caribou-skill-files-'));
  files = skillFiles(home, { minFreeBytes: 0 });
  views = new SkillViews(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe(skillFiles, () => {
  test('what is staged is nowhere else until it is published, then it is whole, with the modes of a mount', async () => {
    const staging = await files.openStaging(USER);
    expect(await staging.write(['scripts', 'run.sh'], chunks('#!/bin/sh', '\n'), { isProgram: true })).toBe(10);
    await staging.write(['SKILL.md'], chunks('text'), { isProgram: false });
    expect(listed(skills('installed'))).toEqual([]);
    await staging.publish('the-id');
    await staging.close();
    expect(listed(skills('staging'))).toEqual([]);
    const root = skills('installed', 'the-id');
    expect(readFileSync(join(root, 'SKILL.md'), 'utf8')).toBe('text');
    expect([root, join(root, 'scripts'), join(root, 'scripts/run.sh'), join(root, 'SKILL.md')].map(modeOf)).toEqual([
      ...['755', '755', '755', '644'],
    ]);
    const closed = process.getuid?.() === 0 ? '710' : '700';
    expect([skills(), skills('installed'), join(home, 'users', USER)].map(modeOf)).toEqual([closed, closed, closed]);
  });

  test('a staging that is closed leaves nothing, and a file is written once', async () => {
    const staging = await files.openStaging(USER);
    await staging.write(['a'], chunks('one'), { isProgram: false });
    await expect(staging.write(['a'], chunks('two'), { isProgram: false })).rejects.toMatchObject({ code: 'EEXIST' });
    await staging.close();
    expect(listed(skills('staging'))).toEqual([]);
  });

  test('nothing is written with less than the operator wants on the disk', async () => {
    const staging = await skillFiles(home, { minFreeBytes: Number.MAX_SAFE_INTEGER }).openStaging(USER);
    const reason: unknown = await staging
      .write(['a'], chunks('x'), { isProgram: false })
      .catch((error: unknown) => error);
    await staging.close();
    expect(reason instanceof FileRefusedError && reason.reason).toBe('no_space');
  });

  test('files that a dead process left are removed after an hour; known or new ones stay', async () => {
    const [known, forgotten, fresh] = [await install({ a: '1' }), await install({ a: '2' }), await install({ a: '3' })];
    await files.openStaging(USER);
    const [left = ''] = listed(skills('staging'));
    for (const path of [skills('installed', known), skills('installed', forgotten), skills('staging', left)])
      makeOld(path, 2 * HOUR_MS);
    await files.openStaging(USER);
    await files.removeLeft(USER, new Set([known]));
    expect(listed(skills('installed'))).toEqual([known, fresh].sort());
    expect(listed(skills('staging'))).toHaveLength(1);
    await files.removeLeft('nobody', new Set());
  });

  test('removing is done once or twice, and for one user', async () => {
    const id = await install({ a: '1' });
    await files.remove('u2', id);
    expect(listed(skills('installed'))).toEqual([id]);
    await files.remove(USER, id);
    await files.remove(USER, id);
    expect(listed(skills('installed'))).toEqual([]);
  });
});

describe(SkillViews, () => {
  test('holds exactly the skills it was asked for, readable and not writable by others', async () => {
    const id = await install({ 'SKILL.md': 'mine', 'scripts/run.sh': '#!/bin/sh' });
    const chart = folder('chart', { 'SKILL.md': 'chart', 'scripts/draw.sh': '#!/bin/sh', 'a/b/c': 'deep' });
    symlinkSync('/etc/passwd', join(home, 'product/chart/link'));
    const { directory } = await views.mount(USER, [chart, installed(id)]);
    expect(listed(directory)).toEqual(['custom', 'public']);
    expect(listed(join(directory, 'public/chart'))).toEqual(['SKILL.md', 'a', 'scripts']);
    expect(readFileSync(join(directory, 'custom/mine/SKILL.md'), 'utf8')).toBe('mine');
    expect(
      ['public/chart/SKILL.md', 'public/chart/scripts/draw.sh', 'custom/mine/scripts/run.sh', ''].map((path) =>
        modeOf(join(directory, path)),
      ),
    ).toEqual(['644', '755', '755', '755']);
    expect(listed((await views.mount(USER, [chart])).directory)).toEqual(['public']);
    expect(listed((await views.mount(USER, [])).directory)).toEqual([]);
  });

  test('the same skills are the same view, also for those who ask at once and from another process', async () => {
    const chart = folder('chart', { 'SKILL.md': 'chart' });
    const other = new SkillViews(home);
    const mounts = await Promise.all([views, views, other, other].map((one) => one.mount(USER, [chart])));
    expect(new Set(mounts.map((mount) => JSON.stringify(mount))).size).toBe(1);
    expect(listed(skills('views'))).toHaveLength(1);
  });

  test('another version of a skill is another view', async () => {
    const one = await views.mount(USER, [folder('chart', { 'SKILL.md': 'one' })]);
    const two = await views.mount(USER, [folder('chart', { 'SKILL.md': 'two' })]);
    expect(one.directory).not.toBe(two.directory);
    expect(readFileSync(join(one.directory, 'public/chart/SKILL.md'), 'utf8')).toBe('one');
  });

  test('views unused for hours are removed when another is made; one that replaced another has another instance id', async () => {
    const chart = folder('chart', { 'SKILL.md': 'chart' });
    const old = await views.mount(USER, [chart]);
    makeOld(old.directory, HOUR_MS);
    await views.mount(USER, []);
    expect(existsSync(old.directory)).toBe(true);
    makeOld(old.directory, 3 * HOUR_MS);
    await views.mount(USER, [folder('other', { 'SKILL.md': 'x' })]);
    expect(existsSync(old.directory)).toBe(false);
    const again = await views.mount(USER, [chart]);
    expect(again.directory).toBe(old.directory);
    expect(again.instance).not.toBe(old.instance);
  });

  test('a view that is used does not expire', async () => {
    const chart = folder('chart', { 'SKILL.md': 'chart' });
    const { directory } = await views.mount(USER, [chart]);
    makeOld(directory, 3 * HOUR_MS);
    await new SkillViews(home).mount(USER, [chart]);
    await views.mount(USER, []);
    expect(existsSync(directory)).toBe(true);
  });

  test('a skill whose files are gone is an empty directory; a disk that fails is said to the caller', async () => {
    const { directory } = await views.mount(USER, [installed(newId())]);
    expect(listed(join(directory, 'custom/mine'))).toEqual([]);
    const closed = new SkillViews('/proc/self/nothing');
    await expect(closed.mount(USER, [])).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('skills among the files that tools read', () => {
  const thread = { userId: USER, threadId: 't1' };
  let data: ThreadFiles;

  beforeEach(async () => {
    const id = await install({ 'SKILL.md': 'one\nfind me\n', 'refs/more.md': 'find me too' });
    const packages = [folder('chart', { 'SKILL.md': 'chart' }), installed(id)];
    const mount = (userId: string) => views.mount(userId, userId === USER ? packages : []);
    data = threadFiles(home, commandIdentity(), { skills: mount });
    await data.prepare(thread);
  });

  const read = async (path: string, user = USER): Promise<string> => {
    const handle = await data.openFile({ ...thread, userId: user }, path);
    try {
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  };
  const reasonOf = async (act: Promise<unknown>): Promise<FileRefusal | undefined> => {
    const error: unknown = await act.catch((reason: unknown) => reason);
    return error instanceof FileRefusedError ? error.reason : undefined;
  };

  test('are read, listed, found and searched', async () => {
    expect(await read('/mnt/skills/custom/mine/refs/more.md')).toBe('find me too');
    expect(await read('/mnt/skills/public/chart/SKILL.md')).toBe('chart');
    expect((await listDirectory(data, { thread, path: '/mnt/skills' }, { depth: 2, maxResults: 10 })).found).toEqual([
      '/mnt/skills/custom/',
      '/mnt/skills/custom/mine/',
      '/mnt/skills/public/',
      '/mnt/skills/public/chart/',
    ]);
    const query = { pattern: '**/*.md', includeDirectories: false, maxResults: 10 };
    expect((await findFiles(data, { thread, path: '/mnt/skills/custom' }, query)).found).toEqual([
      '/mnt/skills/custom/mine/SKILL.md',
      '/mnt/skills/custom/mine/refs/more.md',
    ]);
    const lines = async (path: string) =>
      (await searchLines(data, { thread, path }, { pattern: /find/, maxResults: 10 })).found;
    expect(await lines('/mnt/skills')).toEqual([
      { path: '/mnt/skills/custom/mine/SKILL.md', line: 2, text: 'find me' },
      { path: '/mnt/skills/custom/mine/refs/more.md', line: 1, text: 'find me too' },
    ]);
    expect(await lines('/mnt/skills/custom/mine/SKILL.md')).toHaveLength(1);
  });

  test('are those of the thread’s user only', async () => {
    expect(await reasonOf(read('/mnt/skills/custom/mine/SKILL.md', 'u2'))).toBe('not_found');
    for (const [path, reason] of [
      ['/mnt/skills', 'is_directory'],
      ['/mnt/skills/custom/mine', 'is_directory'],
      ['/mnt/skills/custom/none', 'not_found'],
      ['/mnt/skills/../user-data', 'outside'],
      ['/mnt/skillsets/x', 'outside'],
    ] as const)
      expect([path, await reasonOf(read(path))]).toEqual([path, reason]);
  });

  test('cannot be written', async () => {
    const content = Buffer.from('evil');
    for (const path of ['/mnt/skills/custom/mine/SKILL.md', '/mnt/skills/new'])
      for (const act of [data.replace(thread, path, content), data.append(thread, path, content)])
        expect(await reasonOf(act)).toBe('outside');
    expect(await read('/mnt/skills/custom/mine/SKILL.md')).toBe('one\nfind me\n');
  });

  test('are not there where no skills were given', async () => {
    const without = threadFiles(home, commandIdentity());
    expect(await reasonOf(without.openFile(thread, '/mnt/skills/public/chart/SKILL.md'))).toBe('outside');
  });
});

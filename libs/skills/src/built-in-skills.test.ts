import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@caribou/core';
import { BUILT_IN_SKILLS } from './built-in-skills.js';
import { SkillLibrary } from './skill-library.js';
import { zipOf } from './testing/zip-of.js';
import { unpackSkill } from './unpack-skill.js';

const script = (path: string): string => join(BUILT_IN_SKILLS, 'public', path);
const python = (path: string, ...args: readonly string[]): string =>
  execFileSync('python3', [script(path), ...args], { encoding: 'utf8', timeout: 20_000 });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-shipped-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the built-in skills', () => {
  test('are valid, each in a directory of its name', async () => {
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => lines.push(JSON.stringify(fields)) };
    const found = await new SkillLibrary({ root: BUILT_IN_SKILLS, clock: systemClock, logger }).skills();
    expect(found.map(({ name, segments }) => [name, segments])).toEqual(
      ['bootstrap', 'chart-and-report', 'data-analysis', 'deep-research', 'skill-creator'].map((name) => [
        name,
        [name],
      ]),
    );
    expect(lines).toEqual([]);
    for (const { directory } of found)
      for (const [path] of readFileSync(join(directory, 'SKILL.md'), 'utf8').matchAll(
        /\/mnt\/skills\/public\/[\w./-]+/g,
      ))
        expect([path, readFileSync(path.replace('/mnt/skills', BUILT_IN_SKILLS)).length > 0]).toEqual([path, true]);
  });
});

const hasPython = spawnSync('python3', ['--version']).status === 0;
(hasPython ? describe : describe.skip)('scripts of the skills that ship', () => {
  test('a table is described by its columns', () => {
    const path = join(folder, 'a.csv');
    writeFileSync(path, 'city;sales\nBerlin;2,5\nBonn;1\nBonn;1\nKiel;\n');
    const text = python('data-analysis/scripts/profile_table.py', path);
    expect(text).toContain('4 rows, 2 columns, 1 rows that repeat an earlier one');
    expect(text).toContain('min 1, median 1, mean 1.5, max 2.5');
    expect(text).toContain('odd: 1 blank');
  });

  test('each kind of chart is an SVG with its texts as text', () => {
    const path = join(folder, 'a.csv');
    writeFileSync(path, 'city,sales\nBerlin,20\n<b>Bonn</b>,10\nKiel,5\n');
    for (const kind of ['bar', 'line', 'pie']) {
      const out = join(folder, `${kind}.svg`);
      python('chart-and-report/scripts/svg_chart.py', path, '--kind', kind, '--title', 'A & B', '--out', out);
      const svg = readFileSync(out, 'utf8');
      expect([kind, svg.startsWith('<svg '), svg.includes('A &amp; B'), svg.includes('<b>')]).toEqual([
        kind,
        true,
        true,
        false,
      ]);
    }
    const wrong = spawnSync('python3', [
      script('chart-and-report/scripts/svg_chart.py'),
      path,
      '--out',
      '/nowhere/x.svg',
    ]);
    expect(wrong.status).not.toBe(0);
  });

  test('a packed skill can be installed, and the packer refuses what an installation would refuse', async () => {
    const source = join(folder, 'mine');
    cpSync(script('skill-creator'), source, { recursive: true });
    const archive = join(folder, 'skill-creator.skill');
    expect(python('skill-creator/scripts/package_skill.py', source, folder)).toContain(`${archive}: 2 files`);
    const handle = await open(archive);
    const written: string[] = [];
    const write = async (segments: readonly string[], content: AsyncIterable<Uint8Array>): Promise<number> => {
      written.push(segments.join('/'));
      for await (const _ of content);
      return 0;
    };
    expect((await unpackSkill(await zipOf(handle), { write }, new AbortController().signal)).name).toBe(
      'skill-creator',
    );
    await handle.close();
    expect(written).toEqual(['SKILL.md', 'scripts/package_skill.py']);

    const refused = (): string =>
      spawnSync('python3', [script('skill-creator/scripts/package_skill.py'), source, folder], { encoding: 'utf8' })
        .stderr;
    mkdirSync(join(source, 'inner'));
    copyFileSync(join(source, 'SKILL.md'), join(source, 'inner/SKILL.md'));
    expect(refused()).toContain('a skill cannot hold another');
    rmSync(join(source, 'inner'), { recursive: true });
    writeFileSync(join(source, 'SKILL.md'), '---\nname: Bad\ndescription: x\n---\n');
    expect(refused()).toContain('name: lower-case');
    writeFileSync(join(source, 'SKILL.md'), '---\nname: good\ndescription: x\nhooks: y\n---\n');
    expect(refused()).toContain('unexpected keys: hooks');
  });
});

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type InstalledSkill, newId } from '@caribou/contracts';
import { type Logger, silentLogger, type UserSkills } from '@caribou/core';
import { OperatorSwitches } from './operator-switches.js';
import { SkillLibrary } from './skill-library.js';
import { UserSkillCatalog } from './user-skill-catalog.js';

let root: string;
let lines: string[];
let logger: Logger;
let nowMs: number;
let users: Map<string, UserSkills>;
let catalog: UserSkillCatalog;
let library: SkillLibrary;

const NOTHING: UserSkills = { states: new Map(), installed: [] };
const file = (name: string, description = `Does ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n# How\n`;

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const installed = (name: string): InstalledSkill => ({
  id: newId(),
  name,
  description: 'Mine.',
  license: 'MIT',
  allowed_tools: ['bash'],
  bytes: 1,
  installed_at: '2026-03-14T10:00:00.000Z',
});
const has = (states: Readonly<Record<string, boolean>>, ...names: readonly string[]): void =>
  void users.set('u1', { states: new Map(Object.entries(states)), installed: names.map(installed) });
const locations = async (userId = 'u1'): Promise<readonly string[]> =>
  (await catalog.skillsOf(userId)).map(({ location }) => location);
const enabled = async (): Promise<readonly string[]> =>
  (await catalog.skillsOf('u1')).filter((skill) => skill.enabled).map(({ name }) => name);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'caribou-skills-'));
  lines = [];
  nowMs = 0;
  users = new Map();
  const record = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  logger = { ...silentLogger, warn: record, error: record };
  library = new SkillLibrary({ root, clock: { monotonicMs: () => nowMs }, logger });
  catalog = new UserSkillCatalog({
    library,
    operator: new OperatorSwitches(join(root, 'extensions.json'), logger),
    store: { read: (userId) => Promise.resolve(users.get(userId) ?? NOTHING) },
  });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe(UserSkillCatalog, () => {
  test('users without skills of their own share one list until something changes', async () => {
    write('public/chart/SKILL.md', file('chart'));
    for (const user of ['u1', 'u2']) users.set(user, NOTHING);
    const [first, second] = [await catalog.skillsOf('u1'), await catalog.skillsOf('u2')];
    expect(second).toBe(first);

    has({ chart: false });

    expect(await catalog.skillsOf('u1')).not.toBe(first);
    expect(await catalog.skillsOf('u2')).toBe(first);
  });

  test('finds nested skills of both folders, by name; the content of a skill belongs to it', async () => {
    write('public/writing/report/SKILL.md', file('report'));
    write('public/writing/report/templates/SKILL.md', file('inner'));
    write('public/chart/SKILL.md', file('chart'));
    write('public/.hidden/SKILL.md', file('hidden'));
    write('public/notes/README.md', 'no skill');
    write('custom/house/SKILL.md', file('house-style'));
    symlinkSync(join(root, 'public/chart'), join(root, 'public/link'));
    expect(await catalog.skillsOf('u1')).toEqual([
      {
        name: 'chart',
        description: 'Does chart.',
        license: null,
        category: 'public',
        allowedTools: null,
        location: '/mnt/skills/public/chart/SKILL.md',
        enabled: true,
        editable: false,
      },
      expect.objectContaining({
        name: 'house-style',
        category: 'custom',
        location: '/mnt/skills/custom/house/SKILL.md',
      }),
      expect.objectContaining({ name: 'report', location: '/mnt/skills/public/writing/report/SKILL.md' }),
    ]);
    expect(lines).toEqual([]);
  });

  test('skips invalid skills, duplicate names and those above the limits, and logs each once', async () => {
    write('public/a/SKILL.md', file('same'));
    write('public/b/SKILL.md', file('same'));
    write('public/c/SKILL.md', '# no front matter');
    write('public/d/SKILL.md', file('d') + 'x'.repeat(256 * 1024));
    write('custom/SKILL.md', file('of-the-folder'));
    write('public/n/e/s/t/e/d/t/o/o/deep/SKILL.md', file('deep'));
    expect(await locations()).toEqual(['/mnt/skills/public/a/SKILL.md']);
    nowMs += 60_000;
    expect(await locations()).toEqual(['/mnt/skills/public/a/SKILL.md']);
    expect(lines.map((line) => /"path":"[^"]*?(\w+)","reason":"([^"]*?)[."]/.exec(line)?.slice(1, 3))).toEqual([
      ['c', 'SKILL'],
      ['d', 'SKILL'],
      ['o', 'there are too many directories, or they are nested too deep'],
      ['custom', 'a skill needs a directory of its own below custom'],
      ['b', `its name is that of ${root}/public/a`],
    ]);
  });

  test('a missing folder has none; one that is created later is found at the next read', async () => {
    expect(await locations()).toEqual([]);
    write('public/a/SKILL.md', file('a'));
    nowMs += 4_999;
    expect(await locations()).toEqual([]);
    nowMs += 1;
    expect(await locations()).toEqual(['/mnt/skills/public/a/SKILL.md']);
  });

  test("a user's own skills are visible to that user only, and take precedence over those of the folder", async () => {
    write('public/mine/SKILL.md', file('mine'));
    write('custom/mine/SKILL.md', file('other'));
    write('public/shared/SKILL.md', file('shared'));
    has({}, 'mine');
    expect(await catalog.skillsOf('u1')).toEqual([
      {
        name: 'mine',
        description: 'Mine.',
        license: 'MIT',
        category: 'custom',
        allowedTools: ['bash'],
        location: '/mnt/skills/custom/mine/SKILL.md',
        enabled: true,
        editable: true,
      },
      expect.objectContaining({ name: 'shared', editable: false }),
    ]);
    expect(await locations('u2')).toEqual([
      '/mnt/skills/public/mine/SKILL.md',
      '/mnt/skills/custom/mine/SKILL.md',
      '/mnt/skills/public/shared/SKILL.md',
    ]);
  });

  test('a skill is on unless the user, or else the operator, switched it off', async () => {
    for (const name of ['a', 'b', 'c', 'd']) write(`public/${name}/SKILL.md`, file(name));
    write('extensions.json', '{"mcpServers":{},"skills":{"b":{"enabled":false},"c":{"enabled":false},"d":{}}}');
    has({ a: false, b: true });
    expect(await enabled()).toEqual(['b', 'd']);
  });

  test("the operator's file is read again after a change; an invalid one changes nothing and is logged", async () => {
    write('public/a/SKILL.md', file('a'));
    expect(await enabled()).toEqual(['a']);
    write('extensions.json', '{"skills":{"a":{"enabled":false}}}');
    expect(await enabled()).toEqual([]);
    write('extensions.json', '{"skills":{"a":{"enabled":"no","key":"s3cret"}}}');
    expect(await enabled()).toEqual([]);
    write('extensions.json', '{"s3cret');
    expect(await enabled()).toEqual([]);
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain('s3cret');
    rmSync(join(root, 'extensions.json'));
    expect(await enabled()).toEqual(['a']);
  });

  test('the fingerprint of a folder changes with the files in it', async () => {
    write('public/a/SKILL.md', file('a'));
    write('public/a/scripts/x.py', 'print(1)');
    const fingerprint = async (): Promise<string | undefined> => {
      nowMs += 60_000;
      return (await library.skills())[0]?.fingerprint;
    };
    const first = await fingerprint();
    expect(await fingerprint()).toBe(first);
    utimesSync(join(root, 'public/a/scripts/x.py'), 1, 1);
    const second = await fingerprint();
    expect(second).not.toBe(first);
    write('public/a/y', '');
    expect(await fingerprint()).not.toBe(second);
  });
});

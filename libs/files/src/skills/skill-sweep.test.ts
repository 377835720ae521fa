import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listed, makeOld, SkillFixture, skillIn, skillsAt, USER, wholeSkill } from '../testing/skill-fixture.js';
import { skillFiles } from './skill-files.js';
import { sweepSkills } from './skill-sweep.js';

let fixture: SkillFixture;
beforeEach(() => (fixture = new SkillFixture()));
afterEach(() => fixture.close());

describe(sweepSkills, () => {
  const sweep = (home: string): Promise<void> => {
    const ids = new Set(Array.from(fixture.records.values(), ({ id }) => id));
    const idsOf = (userId: string) => Promise.resolve(userId === USER ? ids : new Set<string>());
    return sweepSkills({ homeDir: home, idsOf, signal: new AbortController().signal });
  };

  test('removes copies of skills that are gone and what a killed process has left, and nothing that is new', async () => {
    const installing = fixture.machine();
    const [stays, goes] = [
      await fixture.install(installing.files, 'stays'),
      await fixture.install(installing.files, 'goes'),
    ];
    const one = fixture.machine();
    const { directory } = await one.mount();
    // A process that was killed between its last write and the rename.
    const left = skillsAt(one.home, 'staging', 'left');
    mkdirSync(join(left, 'refs'), { recursive: true });
    writeFileSync(join(left, 'SKILL.md'), 'half');
    fixture.records.delete('goes');
    await sweep(one.home);
    expect(listed(skillsAt(one.home, 'fetched'))).toEqual([stays.id, goes.id].sort());
    for (const path of [
      left,
      directory,
      skillsAt(one.home, 'fetched', stays.id),
      skillsAt(one.home, 'fetched', goes.id),
    ])
      makeOld(path);
    await sweep(one.home);
    expect(listed(skillsAt(one.home, 'fetched'))).toEqual([stays.id]);
    expect([listed(skillsAt(one.home, 'staging')), listed(skillsAt(one.home, 'views'))]).toEqual([[], []]);
    expect(skillIn((await one.mount()).directory, 'stays')).toEqual(wholeSkill);
  });

  test('leaves skills of a data volume, other users’ files, and a home without any', async () => {
    const old = fixture.machine();
    const skill = await fixture.install(skillFiles(old.home, { minFreeBytes: 0 }), 'mine');
    fixture.records.clear();
    makeOld(skillsAt(old.home, 'installed', skill.id));
    const other = join(old.home, 'users/u2/threads/t1/user-data/file');
    mkdirSync(dirname(other), { recursive: true });
    writeFileSync(other, 'x');
    await sweep(old.home);
    expect([listed(skillsAt(old.home, 'installed')), existsSync(other)]).toEqual([[skill.id], true]);
    await sweep(join(old.home, 'none'));
  });
});

import { rmSync } from 'node:fs';
import { CONTENT, noteOf, SkillFixture, skillIn, skillsAt, USER, wholeSkill } from '../testing/skill-fixture.js';
import { skillFiles } from './skill-files.js';

let fixture: SkillFixture;
beforeEach(() => (fixture = new SkillFixture()));
afterEach(() => fixture.close());

describe('skills of an earlier data volume', () => {
  const installHere = (home: string, name: string) => fixture.install(skillFiles(home, { minFreeBytes: 0 }), name);

  test('are brought into the store by a machine that has them, and are absent elsewhere until then', async () => {
    const [old, other] = [fixture.machine(), fixture.machine()];
    await installHere(old.home, 'mine');
    expect(noteOf((await other.mount()).directory, 'mine')).toMatch(/disk of another machine/);
    expect(skillIn((await old.mount()).directory, 'mine')).toEqual(wholeSkill);
    await old.imports.idle();
    expect(fixture.records.get('mine')?.manifest).toBeDefined();
    expect(skillIn((await other.mount()).directory, 'mine')).toEqual(wholeSkill);
    const { size } = fixture.objects.objects;
    await old.mount();
    await old.imports.idle();
    expect(fixture.objects.objects.size).toBe(size);
  });

  test('are imported when a gateway lists them, by one of two machines', async () => {
    const old = fixture.machine();
    const skill = await installHere(old.home, 'mine');
    const second = fixture.processAt(old.home);
    for (const { files } of [old, second]) files.importSkills?.(USER, [skill]);
    await Promise.all([old, second].map(({ imports }) => imports.idle()));
    expect(fixture.keysOf('trees/')).toContain(fixture.records.get('mine')?.manifest);
    expect(skillIn((await fixture.machine().mount()).directory, 'mine')).toEqual(wholeSkill);
  });

  test('are not imported incomplete, nor without their files, nor while the store is away', async () => {
    const old = fixture.machine();
    const skill = await installHere(old.home, 'mine');
    fixture.objects.failure = () => 'before';
    expect(skillIn((await old.mount()).directory, 'mine')).toEqual(wholeSkill);
    await old.imports.idle();
    fixture.objects.failure = () => undefined;
    rmSync(skillsAt(old.home, 'installed', skill.id, 'refs/large'));
    for (const { mount, imports } of [fixture.processAt(old.home), fixture.machine()]) {
      await mount();
      await imports.idle();
    }
    rmSync(skillsAt(old.home, 'installed', skill.id, 'SKILL.md'));
    fixture.records.set('mine', {
      ...skill,
      bytes: skill.bytes - CONTENT['refs/large'].length - CONTENT['SKILL.md'].length,
    });
    const again = fixture.processAt(old.home);
    await again.mount();
    await again.imports.idle();
    expect(fixture.records.get('mine')?.manifest).toBeUndefined();
    expect(fixture.keysOf('trees/').length).toBe(1);
  });
});

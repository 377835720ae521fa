import type { Skill } from './api.js';
import { archiveFault, originOf, sortSkills } from './skill-list.js';

const skill = (name: string, over: Partial<Skill> = {}): Skill => ({
  name,
  description: `Does ${name}.`,
  license: null,
  category: 'public',
  enabled: true,
  editable: false,
  ...over,
});

describe(originOf, () => {
  test('says who a skill is from', () => {
    const own = skill('a', { category: 'custom', editable: true });
    const operator = skill('b', { category: 'custom' });
    expect([own, operator, skill('c')].map(originOf)).toEqual(['own', 'operator', 'product']);
  });
});

describe(sortSkills, () => {
  test('own ones come first, each group by name', () => {
    const own = { category: 'custom', editable: true } as const;
    const skills = [skill('b'), skill('z', own), skill('a'), skill('y', own)];
    expect(sortSkills(skills).map(({ name }) => name)).toEqual(['y', 'z', 'a', 'b']);
  });
});

describe(archiveFault, () => {
  test('only a .skill file with a content may be sent', () => {
    expect(archiveFault({ name: 'Report.SKILL', size: 3 })).toBeUndefined();
    expect(archiveFault({ name: 'report.zip', size: 3 })).toBe('name');
    expect(archiveFault({ name: 'report.skill', size: 0 })).toBe('empty');
  });
});

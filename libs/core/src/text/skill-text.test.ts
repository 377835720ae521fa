import { splitSkillFile } from './skill-text.js';

describe(splitSkillFile, () => {
  test.each([
    ['---\nname: a\n---\n\n# How\n', 'name: a', '# How'],
    ['---\r\nname: a\r\n---\r\nDo.', 'name: a', 'Do.'],
    ['\uFEFF---\n---\nDo.', '', 'Do.'],
    ['---\na: 1\n---', 'a: 1', ''],
    ['---\na: 1\n---\nx\n---\ny', 'a: 1', 'x\n---\ny'],
    ['# How\n---\nx\n---\n', undefined, '# How\n---\nx\n---'],
    ['---\nname: a\n', undefined, '---\nname: a'],
  ])('%j', (text, frontMatter, body) => {
    expect(splitSkillFile(text)).toEqual({ frontMatter, body });
  });
});

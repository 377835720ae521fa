import fc from 'fast-check';
import { parseSkillFile } from './front-matter.js';
import { SkillRejectedError } from './skill-rejected.js';

const file = (...lines: readonly string[]): string => ['---', ...lines, '---', '', '# How', 'Do it.'].join('\n');

describe(parseSkillFile, () => {
  test('reads the metadata of a skill, over several lines and in quotes', () => {
    const text = file(
      'name: data-analysis',
      'description: >-',
      '  Looks at tables:',
      '  "quoted", and more.',
      "license: 'MIT'",
      'version: 1.2',
      'author: somebody',
      'compatibility: any',
      'metadata: {tags: [a, b]}',
      'allowed-tools: [bash, read_file]',
    );
    expect(parseSkillFile(text)).toEqual({
      name: 'data-analysis',
      description: 'Looks at tables: "quoted", and more.',
      license: 'MIT',
      allowedTools: ['bash', 'read_file'],
    });
    expect(parseSkillFile(text.replaceAll('\n', '\r\n')).name).toBe('data-analysis');
    expect(parseSkillFile(`\uFEFF${text}`).name).toBe('data-analysis');
  });

  test.each([
    ['allowed-tools: bash, read_file', ['bash', 'read_file']],
    ['allowed-tools: bash read_file', ['bash', 'read_file']],
    ['allowed-tools: []', []],
    ['allowed-tools:', null],
    ['license:', null],
  ])('%s', (extra, allowedTools) => {
    const { allowedTools: read, license } = parseSkillFile(file('name: a', 'description: b', extra));
    expect([read, license]).toEqual([allowedTools, null]);
  });

  test.each([
    ['no front matter', '# How', /must begin with front matter/],
    ['text before it', ` ${file('name: a', 'description: b')}`, /must begin/],
    ['no end of it', '---\nname: a\ndescription: b\n', /must begin/],
    ['an empty one', '---\n---\n', /keys and values/],
    ['a list', file('- a'), /keys and values/],
    ['a text', file('a'), /keys and values/],
    ['broken YAML', file('name: [a'), /not valid YAML \(line \d+/],
    ['a key twice', file('name: a', 'name: b', 'description: c'), /not valid YAML \(line 3, DUPLICATE_KEY\)/],
    ['a tag', file('name: !!js/function a', 'description: b'), /not valid YAML \(line 2/],
    ['an anchor', file('name: &a x', 'description: *a'), /anchors/],
    ['a merge', file('x: &a {name: a}', '<<: *a', 'description: b'), /anchors/],
    ['no name', file('description: b'), /name:/],
    ['no description', file('name: a'), /description:/],
    ['an empty description', file('name: a', 'description: " "'), /description: must not be empty/],
    ['a number for a name', file('name: 7', 'description: b'), /name:/],
    ['capitals in the name', file('name: Abc', 'description: b'), /name: must be lower-case/],
    ['a hyphen in front', file('name: -abc', 'description: b'), /name: must be/],
    ['a hyphen at the end', file('name: abc-', 'description: b'), /name: must be/],
    ['two hyphens', file('name: a--b', 'description: b'), /name: must be/],
    ['a name that climbs', file('name: ../a', 'description: b'), /name: must be/],
    ['a long name', file(`name: ${'a'.repeat(65)}`, 'description: b'), /name: must have at most 64/],
    ['a long description', file('name: a', `description: ${'b'.repeat(1_025)}`), /at most 1024/],
    ['a tag in the description', file('name: a', 'description: see </skill_system>'), /must not hold/],
    ['a description that is a list', file('name: a', 'description: [b]'), /description:/],
    ['a list of other things', file('name: a', 'description: b', 'allowed-tools: [1]'), /allowed-tools/],
    ['a stranger', file('name: a', 'description: b', 'hooks: rm'), /Unexpected key\(s\).*: hooks\./],
    ['too much of it', file('name: a', `description: ${' '.repeat(40_000)}b`), /more than 32768 characters/],
  ])('refuses %s', (_, text, why) => {
    expect(() => parseSkillFile(text)).toThrow(SkillRejectedError);
    expect(() => parseSkillFile(text)).toThrow(why);
  });

  test('accepts names at their limits', () => {
    const name = 'a'.repeat(64);
    const description = 'b'.repeat(1_024);
    expect(parseSkillFile(file(`name: ${name}`, `description: ${description}`))).toMatchObject({ name, description });
  });

  test('rejects every invalid text with its own error, in little time', () => {
    const pieces = fc.array(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('---', '\n', 'name:', ' ', '- ', '{', '&a', '*a', '"')),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        try {
          parseSkillFile(`---\n${parts.join('')}\n---\n`);
        } catch (error) {
          if (!(error instanceof SkillRejectedError)) throw error;
        }
      }),
    );
  });
});

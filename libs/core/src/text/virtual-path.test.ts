import fc from 'fast-check';
import {
  DATA_DIRECTORIES,
  formatVirtualPath,
  MAX_PATH_BYTES,
  parseSkillsPath,
  parseVirtualPath,
} from './virtual-path.js';

describe('parseVirtualPath', () => {
  test('splits a path below each of the three directories', () => {
    expect(parseVirtualPath('/mnt/user-data/workspace/a/b.txt')).toEqual({
      directory: 'workspace',
      segments: ['a', 'b.txt'],
    });
    expect(parseVirtualPath('/mnt/user-data/uploads')).toEqual({ directory: 'uploads', segments: [] });
    expect(parseVirtualPath('/mnt//user-data/./outputs///x/')).toEqual({ directory: 'outputs', segments: ['x'] });
  });

  test.each([
    ['a relative path', 'workspace/a'],
    ['the empty path', ''],
    ['the common parent', '/mnt/user-data'],
    ['a root that only shares a prefix', '/mnt/user-data-evil/workspace/a'],
    ['a directory that only shares a prefix', '/mnt/user-data/workspaces/a'],
    ['another root', '/etc/passwd'],
    ['a parent segment that leaves', '/mnt/user-data/workspace/../../../root/x'],
    ['a parent segment that stays inside', '/mnt/user-data/workspace/a/../b'],
    ['a NUL', '/mnt/user-data/workspace/a\0b'],
    ['a newline', '/mnt/user-data/workspace/a\nb'],
    ['DEL', '/mnt/user-data/workspace/a\u007f'],
    ['a C1 control character', '/mnt/user-data/workspace/a\u0085'],
    ['a lone surrogate', '/mnt/user-data/workspace/\ud800'],
    ['a segment over 255 bytes', `/mnt/user-data/workspace/${'é'.repeat(128)}`],
    ['a path over 4096 bytes', `/mnt/user-data/workspace/${'a/'.repeat(MAX_PATH_BYTES)}`],
  ])('refuses %s', (_, path) => {
    expect(parseVirtualPath(path)).toBeNull();
  });

  test('never yields a segment with a slash, a NUL, or a name that moves', () => {
    const noise = fc
      .array(fc.constantFrom('/', '.', '..', 'mnt', 'user-data', 'workspace', 'uploads', '\0', 'a', '…', '\\'))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        fc.oneof(
          noise,
          fc.string({ unit: 'binary' }),
          noise.map((tail) => `/mnt/user-data/workspace/${tail}`),
        ),
        (path) => {
          for (const segment of parseVirtualPath(path)?.segments ?? []) {
            expect(['', '.', '..']).not.toContain(segment);
            expect(segment).not.toMatch(/[/\0]/);
          }
        },
      ),
    );
  });

  test('gives back what formatVirtualPath was given', () => {
    const segment = fc
      .string({ minLength: 1, maxLength: 40 })
      .filter((name) => !/[/\u0000-\u001f\u007f-\u009f]/.test(name) && name !== '.' && name !== '..');
    fc.assert(
      fc.property(fc.constantFrom(...DATA_DIRECTORIES), fc.array(segment, { maxLength: 8 }), (directory, segments) => {
        expect(parseVirtualPath(formatVirtualPath({ directory, segments }))).toEqual({ directory, segments });
      }),
    );
  });
});

describe('parseSkillsPath', () => {
  test('splits a path below the mount of skills, by the rules of the data directories', () => {
    expect(parseSkillsPath('/mnt/skills/public/a//b/SKILL.md')).toEqual(['public', 'a', 'b', 'SKILL.md']);
    expect(parseSkillsPath('/mnt/skills')).toEqual([]);
    for (const path of [
      '/mnt/skillsets/a',
      '/mnt/user-data/workspace',
      '/mnt/skills/../x',
      'mnt/skills',
      '/mnt/skills/a\0',
    ])
      expect(parseSkillsPath(path)).toBeNull();
  });
});

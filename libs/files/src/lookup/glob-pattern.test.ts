import fc from 'fast-check';
import { globPattern } from './glob-pattern.js';

describe(globPattern, () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['*.py', ['a.py', 'x/y/a.py', '.py'], ['a.pyc', 'py', 'a.py/b']],
    ['src/*.ts', ['src/a.ts'], ['src/b/a.ts', 'a.ts', 'x/src/a.ts']],
    ['**/*.ts', ['a.ts', 'x/a.ts', 'x/y/a.ts'], ['a.js']],
    ['src/**/test/*', ['src/test/a', 'src/a/b/test/c'], ['src/atest/a', 'test/a']],
    ['src/**', ['src/a', 'src/a/b'], ['src', 'src/', 'srcs/a']],
    ['**', ['a', 'a/b'], ['']],
    ['a**b', ['ab', 'axb'], ['a/b']],
    ['?.md', ['a.md', 'd/é.md', '😀.md'], ['ab.md', '.md']],
    ['[a-c]x', ['ax', 'cx'], ['dx', '-x']],
    ['[!a-c]x', ['dx'], ['ax', 'x']],
    ['[]]', [']'], ['[']],
    ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.t', 'a.{ts,tsx}']],
    ['{a,b/{c,d}}/e', ['a/e', 'b/c/e', 'b/d/e'], ['b/e', 'c/e']],
    ['[a', ['[a'], ['a']],
    ['{a', ['{a'], ['a']],
    ['\\*', ['*'], ['a']],
  ])('%s', (pattern, fitting, others) => {
    const fits = globPattern(pattern);

    expect(fitting.filter((path) => !fits(path))).toEqual([]);
    expect(others.filter(fits)).toEqual([]);
  });

  test('agrees with the expression that each piece means', () => {
    const piece = fc.constantFrom<readonly [string, string]>(
      ...([
        ['*', '[^/]*'],
        ['?', '[^/]'],
        ['a', 'a'],
        ['/', '/'],
        ['[ab]', '[ab]'],
        ['{a,bb}', '(?:a|bb)'],
        ['/**/', '/(?:[^/]+/)*'],
      ] as const),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), fc.stringMatching(/^[ab/]{0,8}$/), (pieces, path) => {
        const pattern = `x/${pieces.map(([glob]) => glob).join('')}`;
        // Two stars side by side mean something else.
        fc.pre(!pieces.some(([glob], index) => glob === '*' && pieces[index + 1]?.[0] === '*'));
        const expression = new RegExp(`^x/${pieces.map(([, source]) => source).join('')}$`);
        expect(globPattern(pattern)(`x/${path}`)).toBe(expression.test(`x/${path}`));
      }),
      { numRuns: 2000 },
    );
  });

  test('takes any text for a pattern', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60, unit: fc.constantFrom(...Array.from('*?[]{},!^-\\/ab')) }), (pattern) => {
        globPattern(pattern)('a/b/ab');
      }),
      { numRuns: 2000 },
    );
    expect(() => globPattern('a'.repeat(201))).toThrow(RangeError);
  });

  test('a pattern made to be slow is decided all the same', () => {
    expect(globPattern('*a'.repeat(100))(`${'a'.repeat(4000)}b`)).toBe(false);
  });
});

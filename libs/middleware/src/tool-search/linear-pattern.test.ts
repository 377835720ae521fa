import fc from 'fast-check';
import { linearPattern } from './linear-pattern.js';

const fits = (pattern: string, text: string): boolean | undefined => linearPattern(pattern)?.(text);

/** Patterns over few characters, so that they often fit, nested a little. */
const { pattern } = fc.letrec<{ pattern: string; atom: string; quantified: string }>((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('a', 'b', 'A', '.', '\\w', '\\W', '\\s', '\\d', '[ab]', '[^a]', '[a-c1]', '\\.', '_', '-', ' '),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?:${inner})`),
  ),
  quantified: fc.oneof(
    tie('atom'),
    fc.constantFrom('^', '$', '\\b', '\\B'),
    fc.tuple(tie('atom'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{1,}', '{0,2}')).map((parts) => parts.join('')),
  ),
  pattern: fc
    .array(
      fc.array(tie('quantified'), { maxLength: 4 }).map((parts) => parts.join('')),
      { minLength: 1, maxLength: 2 },
    )
    .map((branches) => branches.join('|')),
}));

describe(linearPattern, () => {
  test('it matches where a regular expression of JavaScript does', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'B', '1', '_', '-', '.', ' ', '\n'), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (source, said) => {
        const compiled = linearPattern(source);
        fc.pre(compiled !== undefined);

        expect(compiled(said)).toBe(new RegExp(source, 'i').test(said));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(.*a){12}$', '^(\\w+\\s?)*$'])(
    '%s is matched without backtracking in a long text that it almost matches',
    (source) => {
      const text = `${'a'.repeat(5_000)}!`;

      expect(fits(source, text)).toBe(false);
      expect(fits(source, text.slice(0, -1))).toBe(true);
    },
  );

  test.each(['(', '[a', '*a', 'a{2,1}', '(?=a)', '(?!a)', '(?<=a)b', '(a)\\1', '\\u0061', 'a\\'])(
    '%s is refused',
    (source) => {
      expect(linearPattern(source)).toBeUndefined();
    },
  );

  test.each(['(a{50}){50}', 'a{999999}', 'a{257}', '((((a{9}){9}){9}){9}){9}'])('%s is too large', (source) => {
    expect(linearPattern(source)).toBeUndefined();
  });

  test.each<[string, string, boolean]>([
    ['GitHub', 'a github issue', true],
    ['^list_', 'list_issues', true],
    ['^list_', 'relist_issues', false],
    ['\\bissue\\b', 'issues', false],
    ['slack|mail', 'send_mail', true],
    ['(?<kind>a)b', 'ab', true],
    ['a{x', 'a{x}', true],
    ['é', 'CAFÉ', true],
  ])('%s in %j: %p', (source, text, expected) => {
    expect(fits(source, text)).toBe(expected);
  });
});

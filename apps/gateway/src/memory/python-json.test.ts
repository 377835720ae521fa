import fc from 'fast-check';
import { replaceNonFiniteNumbers } from './python-json.js';

describe(replaceNonFiniteNumbers, () => {
  test.each<[string, string]>([
    ['{"confidence": NaN}', '{"confidence": null}'],
    ['[NaN,-Infinity,Infinity,-1]', '[null,null,null,-1]'],
    ['{"NaN": "NaN \\" Infinity", "a": NaN}', '{"NaN": "NaN \\" Infinity", "a": null}'],
    ['"\\\\", NaN', '"\\\\", null'],
    ['NaN', 'null'],
    ['1NaN', '1null'],
    ['"NaN', '"NaN'],
  ])('%s becomes %s', (text, json) => {
    expect(replaceNonFiniteNumbers(text)).toBe(json);
  });

  test('JSON stays as it is, whatever its strings hold', () => {
    const words = fc.stringMatching(/^(NaN|-?Infinity|"|\\| |a)*$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(words, fc.double())), (pairs) => {
        const json = JSON.stringify(pairs);
        expect(replaceNonFiniteNumbers(json)).toBe(json);
      }),
    );
  });
});

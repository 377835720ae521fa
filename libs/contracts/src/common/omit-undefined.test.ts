import { omitUndefined } from './omit-undefined.js';

describe('omitUndefined', () => {
  test('leaves out the undefined fields and keeps every other value', () => {
    const fields = { a: undefined, b: null, c: 0, d: '', e: false, f: { g: undefined } };

    const defined = omitUndefined(fields);

    expect(Object.keys(defined)).toEqual(['b', 'c', 'd', 'e', 'f']);
    expect(defined).toStrictEqual({ b: null, c: 0, d: '', e: false, f: { g: undefined } });
    expect(Object.keys(fields)).toHaveLength(6);
  });
});

import { copyWith } from './copy-with.js';

test('a copy has the replaced values', () => {
  const original = { a: 1, b: { c: 2 }, d: 'text' };

  const copy = copyWith(original, { a: 2, d: 'other' });

  expect(copy).toEqual({ a: 2, b: { c: 2 }, d: 'other' });
  expect(copy.b).toBe(original.b);
  expect(original).toEqual({ a: 1, b: { c: 2 }, d: 'text' });
});

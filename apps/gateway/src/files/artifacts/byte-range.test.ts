import { byteRange } from './byte-range.js';

describe('byteRange', () => {
  test.each<[string | undefined, number, ReturnType<typeof byteRange>]>([
    [undefined, 10, 'whole'],
    ['items=0-1', 10, 'whole'],
    ['bytes=0-1,3-4', 10, 'whole'],
    ['bytes=0-3', 10, { start: 0, end: 3 }],
    ['bytes=4-', 10, { start: 4, end: 9 }],
    ['bytes=-3', 10, { start: 7, end: 9 }],
    ['bytes=-30', 10, { start: 0, end: 9 }],
    ['bytes=8-100', 10, { start: 8, end: 9 }],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=5-4', 10, 'unsatisfiable'],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=-', 10, 'unsatisfiable'],
    ['bytes=a-b', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=-1', 0, 'unsatisfiable'],
  ])('%s of %i bytes', (header, size, range) => {
    expect(byteRange(header, size)).toEqual(range);
  });
});

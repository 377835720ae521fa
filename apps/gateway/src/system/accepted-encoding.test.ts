import type { Encoding } from '@caribou/page-files';
import { acceptedEncoding } from './accepted-encoding.js';

describe(acceptedEncoding, () => {
  const both: ReadonlySet<Encoding> = new Set(['br', 'gzip']);

  test.each<[string | undefined, Encoding | undefined]>([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['BR;Q=1', 'br'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0.2, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0, *;q=0.1', 'br'],
    ['br;q=x', undefined],
    ['deflate', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('Accept-Encoding %p gets %p', (header, expected) => {
    expect(acceptedEncoding(header, both)).toBe(expected);
  });

  test('a coding that does not exist is not chosen', () => {
    expect(acceptedEncoding('br, gzip', new Set<Encoding>(['gzip']))).toBe('gzip');
    expect(acceptedEncoding('br, gzip', new Set<Encoding>())).toBeUndefined();
  });
});

import { parsePage } from './list-page.js';

const entry = (key: string, size = '1', time = '2026-11-25T12:00:00.000Z'): string =>
  `<Contents><Key>${key}</Key><Size>${size}</Size><LastModified>${time}</LastModified></Contents>`;
const page = (entries: readonly string[], rest = '<IsTruncated>false</IsTruncated>'): string =>
  `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${rest}${entries.join('')}</ListBucketResult>`;

describe('parsePage', () => {
  test('cuts the prefix off and leaves out objects that the store did not make', () => {
    const text = page(
      [entry('p/A'), entry('p/a', '7'), entry('p/a+b%2B'), entry('p/b/')],
      ['<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>'].join(''),
    );
    expect(parsePage(text, 'p/')).toEqual({
      objects: [{ key: 'a', size: 7, modifiedMs: Date.parse('2026-11-25T12:00:00Z') }],
      next: 'b/',
    });
  });

  test.each([
    ['other objects than those asked for', page([entry('q/a')])],
    ['keys out of order', page([entry('p/b'), entry('p/a')])],
    ['one key twice', page([entry('p/a'), entry('p/a')])],
    ['no size', page(['<Contents><Key>p/a</Key><LastModified>2026-11-25T12:00:00Z</LastModified></Contents>'])],
    ['no number as the size', page([entry('p/a', 'many')])],
    ['no time', page([entry('p/a', '1', 'yesterday')])],
    ['a next page without an object', page([], '<IsTruncated>true</IsTruncated>')],
    ['a bad encoding', page([entry('p/%zz')], '<EncodingType>url</EncodingType>')],
    ['another root', '<Other/>'],
    ['no end', '<ListBucketResult><Contents>'],
    ['nothing', ''],
    ['an entity of its own', '<!DOCTYPE l [<!ENTITY a "b">]><ListBucketResult>&a;</ListBucketResult>'],
    ['too much depth', `<ListBucketResult>${'<a>'.repeat(50)}${'</a>'.repeat(50)}</ListBucketResult>`],
  ])('an answer with %s is refused', (_, text) => {
    expect(() => parsePage(text, 'p/')).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: 'protocol' }) }),
    );
  });
});

import { memoizeRecent, memoizeRecentLists } from './memoize.js';

describe(memoizeRecent, () => {
  const counting = () => {
    const computed: string[] = [];
    const lengthOf = memoizeRecent((text) => {
      computed.push(text);
      return text.length;
    });
    return { computed, lengthOf };
  };
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);

  test('equal texts are computed once', () => {
    const { computed, lengthOf } = counting();
    for (const text of ['abc', 'de', ['a', 'bc'].join('')]) expect(lengthOf(text)).toBe(text.length);
    expect(computed).toEqual(['abc', 'de']);
  });

  test('of more texts than are remembered the one that was not used for longest is computed again', () => {
    const { computed, lengthOf } = counting();
    const texts = numbered(16);
    for (const text of [...texts, 'text 0', 'one more', 'text 0']) lengthOf(text);
    expect(computed).toEqual([...texts, 'one more']);
    lengthOf('text 1');
    expect(computed.at(-1)).toBe('text 1');
  });

  test('a very long text is not remembered', () => {
    const { computed, lengthOf } = counting();
    const long = 'x'.repeat(256 * 1024);
    for (const text of [long, long]) lengthOf(text);
    expect(computed).toHaveLength(2);
  });
});

describe(memoizeRecentLists, () => {
  test('lists with the same members are computed once', () => {
    const [a, b] = [{}, {}];
    const computed: (readonly object[])[] = [];
    const sizeOf = memoizeRecentLists((list: readonly object[]) => {
      computed.push(list);
      return list.length;
    });
    const lists = [[a, b], [b, a], [a], [], [a, b], []];
    expect(lists.map(sizeOf)).toEqual([2, 2, 1, 0, 2, 0]);
    expect(computed).toEqual(lists.slice(0, 4));
  });
});

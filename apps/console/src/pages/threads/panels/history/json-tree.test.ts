import { MAX_ROWS, type OpenNodes, toggled, type TreeRow, treeRows } from './json-tree.js';

const openAll = (...keys: readonly string[]): OpenNodes => new Map(keys.map((key) => [key, 100]));
const rowAt = (rows: readonly TreeRow[], key: string): TreeRow => {
  const row = rows.find((each) => each.key === key);
  if (row === undefined) throw new Error(`no row ${key}`);
  return row;
};

describe('treeRows', () => {
  const value = { title: 'x', messages: [{ id: 'a' }, { id: 'b' }], empty: [] };

  test('a closed root is one row, an open one shows its members, and only open members show theirs', () => {
    expect(treeRows(value, new Map()).map(({ label, text }) => [label, text])).toEqual([['state', '3 fields']]);
    expect(treeRows(value, openAll('', '/messages')).map(({ key, depth, text }) => [key, depth, text])).toEqual([
      ['', 0, '3 fields'],
      ['/title', 1, '"x"'],
      ['/messages', 1, '2 items'],
      ['/messages/0', 2, '1 fields'],
      ['/messages/1', 2, '1 fields'],
      ['/empty', 1, '[]'],
    ]);
  });

  test('a list of 5,000 shows a hundred items and a hundred more with each request', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => index);
    let open = openAll('');
    const rows = treeRows(many, open);
    expect(rows).toHaveLength(102);
    expect(rows.at(-1)).toMatchObject({ kind: 'more', text: 'Show more of 4,900 left' });
    open = toggled(open, rowAt(rows, '+'));
    expect(treeRows(many, open)).toHaveLength(202);
  });

  test('a long text is a node of its lines, and a line of megabytes is cut into pieces that are shown on request', () => {
    const text = `first\n${'y'.repeat(2_000_000)}`;
    const closed = treeRows({ text }, openAll(''));
    expect(rowAt(closed, '/text').kind).toBe('node');
    expect(rowAt(closed, '/text').text.length).toBeLessThan(200);
    const opened = treeRows({ text }, openAll('', '/text'));
    expect(opened.filter(({ kind }) => kind === 'line')).toHaveLength(100);
    expect(rowAt(opened, '/text#0').text).toBe('first');
    expect(Math.max(...opened.map((row) => row.text.length))).toBeLessThanOrEqual(200);
  });

  test('no more rows than the limit are made', () => {
    const wide = Array.from({ length: 300 }, () => Array.from({ length: 100 }, (_, index) => index));
    const open = new Map([['', 300], ...wide.map((_, index): [string, number] => [`/${index}`, 100])]);
    expect(treeRows(wide, open).length).toBeLessThanOrEqual(MAX_ROWS + 2);
  });

  test('names with slashes and signs do not collide', () => {
    const rows = treeRows({ 'a/b': { c: 1 }, a: { b: 2, '+': 3 } }, openAll('', '/a', '/a~1b'));
    expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
    expect(rowAt(rows, '/a/~3').text).toBe('3');
  });
});

describe('toggled', () => {
  test('opens and closes a node', () => {
    const [root] = treeRows({ a: 1 }, new Map());
    const opened = toggled(new Map(), root as TreeRow);
    expect(opened.has('')).toBe(true);
    const [openRoot] = treeRows({ a: 1 }, opened);
    expect(toggled(opened, openRoot as TreeRow).size).toBe(0);
  });
});

import { EMPTY, type ConversationState } from './conversation-state.js';
import { withPage } from './feed.js';
import { rowsOf } from './rows.js';
import { aiMessage, feedPage, humanMessage, toolMessage } from '../testing/messages.js';

const ids = ({ stored }: ConversationState): string[] => stored.map(({ id }) => id);
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => humanMessage(`m${from + index}`, 'x'));

const newest = withPage(EMPTY, {
  page: feedPage(numbered(51, 100), { first: 51, next: 51 }),
  before: undefined,
  readAt: 1,
});

test('older pages come in front, and the last one ends it', () => {
  const two = withPage(newest, { page: feedPage(numbered(1, 50), { first: 1 }), before: 51, readAt: 2 });
  expect(ids(two)).toHaveLength(100);
  expect(ids(two).at(0)).toBe('m1');
  expect(two.olderBefore).toBeNull();
});

test('an older page that comes twice, or after the list began again, changes nothing', () => {
  const older = { page: feedPage(numbered(1, 50), { first: 1 }), before: 51, readAt: 2 };
  const two = withPage(newest, older);
  expect(withPage(two, older)).toBe(two);
});

test('a newest page that was asked for before another one changes nothing', () => {
  const later = withPage(newest, {
    page: feedPage(numbered(52, 101), { first: 52, next: 52 }),
    before: undefined,
    readAt: 5,
  });
  expect(
    withPage(later, { page: feedPage(numbered(51, 100), { first: 51, next: 51 }), before: undefined, readAt: 4 }),
  ).toBe(later);
  expect(ids(later)).toHaveLength(51);
});

test('messages of a page range that are gone were replaced or rolled back; older ones stay', () => {
  const two = withPage(newest, { page: feedPage(numbered(1, 50), { first: 1 }), before: 51, readAt: 2 });
  const page = feedPage([...numbered(90, 95), humanMessage('new', 'x')], { first: 90, next: 90 });
  const after = withPage(two, { page, before: undefined, readAt: 3 });
  expect(ids(after).slice(-3)).toEqual(['m94', 'm95', 'new']);
  expect(ids(after)).toHaveLength(96);
});

test('a newest page without a common message begins the list again, as some between may be missing', () => {
  const after = withPage(newest, {
    page: feedPage(numbered(500, 549), { first: 500, next: 500 }),
    before: undefined,
    readAt: 2,
  });
  expect(ids(after)).toHaveLength(50);
  expect(after.olderBefore).toBe(500);
});

test('results belong to the answer that called; those of answers on older pages are rows of their own', () => {
  const call = { id: 'c1', name: 'bash', args: { command: 'ls' }, type: 'tool_call' as const };
  const page = feedPage([
    toolMessage('c0', 'older'),
    aiMessage('a', '', [call]),
    toolMessage('c1', 'files'),
    aiMessage('b', 'done'),
  ]);
  const rows = rowsOf(withPage(EMPTY, { page, before: undefined, readAt: 1 }));
  expect(rows.map(({ kind, key }) => [kind, key])).toEqual([
    ['result', 'tool:c0'],
    ['answer', 'a'],
    ['answer', 'b'],
  ]);
  expect(rows[1]).toMatchObject({ isLast: false });
  expect(rows[2]).toMatchObject({ isLast: true });
});

test('rows that have not changed are the same objects', () => {
  const rows = rowsOf(newest);
  const next = rowsOf(
    withPage(newest, { page: feedPage(numbered(101, 101), { first: 101 }), before: undefined, readAt: 2 }),
    rows,
  );
  expect(next).toHaveLength(1);
  expect(rowsOf({ ...newest }, rows).every((row, index) => row === rows[index])).toBe(true);
});

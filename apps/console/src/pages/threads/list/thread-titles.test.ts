import { type ListedThread, listedThread, mergeThreads } from './thread-titles.js';

const thread = (id: string, title: string): ListedThread => ({
  thread_id: id,
  title,
  status: 'idle',
  updated_at: 'now',
});

test('a thread without a title, and one whose title is no text, is untitled', () => {
  const fields = { thread_id: 't', updated_at: 'now', status: 'idle' } as const;
  expect(listedThread({ ...fields, values: {} })).toMatchObject([{ title: 'Untitled' }]);
  expect(listedThread({ ...fields, values: { title: 7 } })).toMatchObject([{ title: 'Untitled' }]);
  expect(listedThread({ ...fields, values: { title: 'A' } })).toMatchObject([{ title: 'A' }]);
  expect(listedThread({ values: {} })).toEqual([]);
});

test('each thread is listed once, as it was read last', () => {
  const merged = mergeThreads(
    [thread('b', 'New name')],
    [[thread('a', 'A'), thread('b', 'Old name')], [thread('a', 'A')]],
    '',
  );
  expect(merged.map(({ title }) => title)).toEqual(['New name', 'A']);
});

test('a search finds titles with all of its words, in any case', () => {
  const all = [thread('a', 'Prime numbers'), thread('b', 'Numbers of 2026'), thread('c', 'Weather')];
  expect(mergeThreads([], [all], ' NUMBERS  prime ').map(({ thread_id: id }) => id)).toEqual(['a']);
});

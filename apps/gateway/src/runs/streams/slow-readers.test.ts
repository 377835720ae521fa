import { SlowReaders } from './slow-readers.js';

const reader = () => ({ cut: jest.fn() });

describe(SlowReaders, () => {
  test('a text that several connections write counts once, with two bytes a character', () => {
    const readers = new SlowReaders(1_000);
    const [one, two] = [reader(), reader()];
    const text = 'x'.repeat(100);
    readers.add(one, 10, text);
    readers.add(two, 20, text);
    expect(readers.heldBytes).toBe(230);
    readers.remove(one);
    expect(readers.heldBytes).toBe(220);
    readers.remove(two);
    readers.remove(two);
    expect(readers.heldBytes).toBe(0);
  });

  test('over the bound the longest waiting connection of those with at least their share is closed', () => {
    const readers = new SlowReaders(1_000);
    const [small, first, second, last] = [reader(), reader(), reader(), reader()];
    readers.add(small, 10);
    readers.add(first, 450);
    readers.add(second, 450);
    readers.add(last, 400);
    expect([small, first, second, last].map(({ cut }) => cut.mock.calls.length)).toEqual([0, 1, 0, 0]);
    expect(first.cut).toHaveBeenCalledWith('slow');
    expect(readers.heldBytes).toBe(860);
  });

  test('a connection that begins to wait again counts as the newest', () => {
    const readers = new SlowReaders(1_000);
    const [first, second, last] = [reader(), reader(), reader()];
    readers.add(first, 400);
    readers.add(second, 400);
    readers.add(first, 400);
    readers.add(last, 400);
    expect([first, second, last].map(({ cut }) => cut.mock.calls.length)).toEqual([0, 1, 0]);
  });

  test('the only waiting connection is not closed', () => {
    const readers = new SlowReaders(1_000);
    const only = reader();
    readers.add(only, 10, 'x'.repeat(5_000));
    expect(only.cut).not.toHaveBeenCalled();
  });
});

import { Shortcuts } from './shortcuts.js';

describe('Shortcuts', () => {
  let done: string[] = [];
  let shortcuts = new Shortcuts();
  const add = (...keys: string[]) => shortcuts.add({ keys, about: '', run: () => done.push(keys.join(' ')) });
  const press = (keys: string, stepMs = 100) =>
    keys.split(' ').map((key, at) => shortcuts.press(key, 10_000 + at * stepMs));

  beforeEach(() => {
    done = [];
    shortcuts = new Shortcuts();
    add('?');
    add('g', 's');
  });

  test('one key, and keys one after the other', () => {
    expect(press('? g s')).toEqual([true, true, true]);
    expect(done).toEqual(['?', 'g s']);
  });

  test('keys that begin no shortcut are not taken, and do not spoil the next one', () => {
    expect(press('x s g ?')).toEqual([false, false, true, true]);
    expect(press('g g s')).toEqual([true, true, true]);
    expect(done).toEqual(['?', 'g s']);
  });

  test('a sequence that takes too long is none', () => {
    expect(press('g s', 2_000)).toEqual([true, false]);
    expect(done).toEqual([]);
  });

  test('a page that is gone has none, and the newest of two with the same keys is run', () => {
    const remove = shortcuts.add({ keys: ['?'], about: '', run: () => done.push('of the page') });
    press('?');
    remove();
    press('?');

    expect(done).toEqual(['of the page', '?']);
  });

  test('nothing is run while they are off', () => {
    shortcuts.areOn.write(false);

    expect(press('? g s')).toEqual([false, false, false]);
    expect(done).toEqual([]);
  });
});

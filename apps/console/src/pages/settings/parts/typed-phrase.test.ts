import { isPhrase } from './typed-phrase.js';

describe(isPhrase, () => {
  test('spaces and case do not matter, anything else does', () => {
    expect([' Erase ', 'erase', 'ERASE'].map((typed) => isPhrase(typed, 'erase'))).toEqual([true, true, true]);
    expect(['', 'eras', 'erase all'].map((typed) => isPhrase(typed, 'erase'))).toEqual([false, false, false]);
  });
});

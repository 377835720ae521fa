import { emptyDraft, faultsOf, isChangeable, type KeyDraft, titleOf, toKeyRequest, toneOf } from './key-form.js';

const NOW = Date.parse('2026-03-14T12:00:00.000Z');
const draft = (over: Partial<KeyDraft> = {}): KeyDraft => ({ ...emptyDraft, name: 'robot', ...over });

describe(faultsOf, () => {
  test('a name is needed, and a user id has to be one', () => {
    expect(faultsOf(draft(), NOW)).toEqual([]);
    expect(faultsOf(draft({ name: '  ', user: 'a:b' }), NOW)).toEqual(['name', 'user']);
    expect(faultsOf(draft({ user: ' alice_1-x ' }), NOW)).toEqual([]);
    expect(faultsOf(draft({ user: '-alice' }), NOW)).toEqual(['user']);
  });

  test('a chosen day has to be in the future, and counts only when a day is chosen', () => {
    for (const date of ['', 'tomorrow', '2026-03-12', '2020-01-01'])
      expect([date, faultsOf(draft({ expiry: 'date', date }), NOW)]).toEqual([date, ['date']]);
    expect(faultsOf(draft({ expiry: 'date', date: '2026-03-16' }), NOW)).toEqual([]);
    expect(faultsOf(draft({ expiry: 'never', date: '2020-01-01' }), NOW)).toEqual([]);
  });
});

describe(toKeyRequest, () => {
  test('counts days from now, and leaves out an empty user', () => {
    expect(toKeyRequest(draft({ name: ' robot ', expiry: '30' }), NOW)).toEqual({
      name: 'robot',
      role: 'user',
      expires_at: '2026-04-13T12:00:00.000Z',
    });
    expect(toKeyRequest(draft({ user: ' alice ', role: 'administrator', expiry: 'never' }), NOW)).toEqual({
      name: 'robot',
      role: 'administrator',
      user_id: 'alice',
      expires_at: null,
    });
  });

  test('a chosen day is part of the time of the key, in the time zone of the person', () => {
    const { expires_at } = toKeyRequest(draft({ expiry: 'date', date: '2026-03-16' }), NOW);
    expect(expires_at).toBe(new Date(2026, 2, 16, 23, 59, 59, 999).toISOString());
  });
});

describe('a listed key', () => {
  test('is named by its label where it has no name', () => {
    expect([titleOf({ name: 'robot', label: 'abc' }), titleOf({ name: null, label: 'abc' })]).toEqual(['robot', 'abc']);
  });

  test('can be changed unless it is configured or revoked', () => {
    const states = [
      ['created', 'active'],
      ['created', 'expired'],
      ['created', 'revoked'],
      ['configuration', 'active'],
    ] as const;
    expect(states.map(([source, status]) => isChangeable({ source, status }))).toEqual([true, true, false, false]);
    expect(states.map(([, status]) => toneOf({ status }))).toEqual(['good', 'warn', 'neutral', 'good']);
  });
});

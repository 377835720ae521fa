import type { Message } from '@caribou/contracts';
import { foreignAnswer, human, resultOf } from '../testing/transcript.js';
import { callIdsFor } from './tool-call-ids.js';

const conversation = (...ids: string[]): Message[] => ids.flatMap((id) => [foreignAnswer(id), resultOf(id)]);
const LOOP = `call_${'0'.repeat(32)}`;

describe(callIdsFor, () => {
  test('leaves ids that fit as they are', () => {
    expect(callIdsFor(conversation(LOOP, 'toolu_01-x'), 'openai')(LOOP)).toBe(LOOP);
    expect(callIdsFor(conversation('abcDEF123'), 'alphanumeric-9')('abcDEF123')).toBe('abcDEF123');
  });

  test.each([
    ['openai' as const, /^[a-zA-Z0-9_-]{1,40}$/],
    ['alphanumeric-9' as const, /^[a-zA-Z0-9]{9}$/],
  ])('gives all others different ids of the form %s, the same each time', (rule, form) => {
    const ids = ['functions.bash:0', 'x'.repeat(41), 'ü', 'a b', `${LOOP}${LOOP}`];
    const [first, longer] = [
      callIdsFor(conversation(...ids), rule),
      callIdsFor([human('hi'), ...conversation(...ids, 'functions.bash:1')], rule),
    ];
    const given = ids.map(first);
    for (const id of given) expect(id).toMatch(form);
    expect(new Set(given).size).toBe(ids.length);
    expect(ids.map(longer)).toEqual(given);
  });

  test('gives no id that the conversation has already', () => {
    const id = 'functions.bash:0';
    const usual = callIdsFor(conversation(id), 'alphanumeric-9')(id);
    const given = callIdsFor(conversation(id, usual), 'alphanumeric-9');
    expect(given(usual)).toBe(usual);
    expect(given(id)).not.toBe(usual);
  });
});

import { lastAnswerIn, stateChanges } from './state-changes.js';

const human = { type: 'human', id: 'h1', content: 'hello' };
const answer = { type: 'ai', id: 'a1', content: '', tool_calls: [{ name: 'bash', args: {}, id: 'c' }] };

describe('stateChanges', () => {
  test('messages are compared by their ids, channels by their values', () => {
    const before = { messages: [human, { type: 'tool', id: 't0', content: 'old' }], title: 'A', sandbox: { id: 1 } };
    const after = { messages: [{ ...human, content: 'hi' }, answer], title: 'A', todos: ['x'], sandbox: { id: 2 } };
    expect(stateChanges(before, after)).toEqual([
      { kind: 'changed', title: 'Message of a person changed', text: 'hi' },
      { kind: 'added', title: 'Answer added', text: 'calls bash' },
      { kind: 'removed', title: 'Result of a tool removed', text: 'old' },
      { kind: 'changed', title: 'todos changed', text: '["x"]' },
    ]);
    expect(stateChanges(after, after)).toEqual([]);
  });

  test('a text of megabytes is cut, and values of another form are no messages', () => {
    const [change] = stateChanges({}, { messages: [{ type: 'tool', id: 't', content: 'x'.repeat(3_000_000) }, null] });
    expect(change?.text).toHaveLength(301);
    expect(stateChanges({ messages: 'x' }, { messages: 'x' })).toEqual([]);
  });
});

test('lastAnswerIn finds the newest answer', () => {
  expect(lastAnswerIn({ messages: [answer, human] })).toBe('a1');
  expect(lastAnswerIn({ messages: [human] })).toBeUndefined();
});

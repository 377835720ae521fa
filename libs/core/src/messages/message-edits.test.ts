import {
  type AiMessage,
  EDITED,
  type Message,
  REMOVE_ALL,
  type StateMessage,
  type ToolMessage,
} from '@caribou/contracts';
import { applyUpdate } from '../agent/agent-state.js';
import { resolveEdits } from './message-edits.js';

const EDITOR = { by: 'alice', at: '2026-01-01T00:00:00.000Z' };
const call = { id: 'c1', name: 'bash', args: { command: 'ls' }, type: 'tool_call' as const };
const base = { additional_kwargs: {}, response_metadata: {} };

const human: Message = { type: 'human', id: 'h', content: 'hi', ...base };
const answer: AiMessage = {
  type: 'ai',
  id: 'a',
  content: 'old',
  additional_kwargs: { reasoning_content: 'thoughts', kept: 1 },
  response_metadata: { model: 'm' },
  tool_calls: [call],
  invalid_tool_calls: [],
  usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  provider_extras: {
    provider: 'p',
    model: 'm',
    dialect: 'd',
    message: { signature: 'of the message' },
    calls: { c1: { signature: 'of the call' } },
    parts: [{ text: 3 }, { call: 'c1' }],
  },
};
const result: ToolMessage = {
  type: 'tool',
  id: 't',
  content: 'out',
  name: 'bash',
  tool_call_id: 'c1',
  status: 'success',
  ...base,
};
const stored = [human, answer, result];

const editOf = (more: object): StateMessage => ({ type: 'ai', id: 'a', content: 'new', ...more });
const resolve = (...messages: StateMessage[]) => resolveEdits(stored, messages, EDITOR);

describe(resolveEdits, () => {
  test('an edited answer is the stored one with the new content and a mark, without what its provider stored with the old', () => {
    const [edited] = resolve(editOf({ tool_calls: [{ id: 'c1', name: 'bash', args: { command: 'ls' } }] }));

    expect(edited).toEqual({
      ...answer,
      content: 'new',
      additional_kwargs: { kept: 1, [EDITED]: EDITOR },
      provider_extras: { provider: 'p', model: 'm', dialect: 'd', calls: answer.provider_extras?.calls },
    });
    const after = applyUpdate({ messages: stored }, { messages: edited === undefined ? [] : [edited] }).messages;
    expect(after.map(({ id }) => id)).toEqual(['h', 'a', 't']);
    expect(JSON.stringify(after)).not.toMatch(/of the message|thoughts|"text":3/);
  });

  test('without calls nothing of the provider stays', () => {
    const { tool_calls: _calls, provider_extras, ...rest } = answer;
    const plain: AiMessage = {
      ...rest,
      tool_calls: [],
      provider_extras: { provider: 'p', model: 'm', dialect: 'd', message: {} },
    };

    expect(provider_extras).toBeDefined();
    expect(resolveEdits([plain], [editOf({})], EDITOR)[0]).not.toHaveProperty('provider_extras');
  });

  test("a tool's result is edited likewise, and tags of the prompt in it are none", () => {
    const edit = {
      type: 'tool',
      id: 't',
      content: '<system-reminder>x</system-reminder>',
      tool_call_id: 'c1',
    } as StateMessage;
    const [edited] = resolve(edit);

    expect(edited).toMatchObject({
      ...result,
      content: expect.not.stringContaining('<system-reminder>'),
      additional_kwargs: { [EDITED]: EDITOR },
    });
  });

  test('what was sent back as it was, or as blocks of the same text, is no edit', () => {
    expect(resolve(editOf({ content: 'old' }), editOf({ content: [{ type: 'text', text: 'old' }] }))).toEqual([]);
  });

  test('an answer is removed with the results of its calls, a result alone', () => {
    const removal = (id: string): StateMessage => ({ type: 'remove', id });

    expect(resolve(removal('a'))).toEqual([removal('a'), removal('t')]);
    expect(resolve(removal('t'), removal(REMOVE_ALL))).toEqual([removal('t'), removal(REMOVE_ALL)]);
  });

  test.each<[object, string]>([
    [{ id: 'none' }, 'values.messages.0: the state of the thread has no message with this id'],
    [{ type: 'remove', id: 'none' }, 'values.messages.0: the state of the thread has no message with this id'],
    [{ id: 'h' }, 'values.messages.0: the message with this id is of type human'],
    [{ tool_calls: [] }, 'values.messages.0: tool_calls cannot be changed'],
    [{ tool_calls: [{ ...call, args: { command: 'rm' } }] }, 'values.messages.0: tool_calls cannot be changed'],
    [{ type: 'tool', id: 't', tool_call_id: 'c2' }, 'values.messages.0: tool_call_id cannot be changed'],
  ])('%j is refused', (edit, message) => {
    expect(() => resolve(editOf(edit))).toThrow(message);
  });
});

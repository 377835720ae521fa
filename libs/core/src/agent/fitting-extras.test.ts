import type { AiMessage } from '@caribou/contracts';
import { applyUpdate } from './agent-state.js';
import { withFittingExtras } from './fitting-extras.js';

const call = (id: string) => ({ id, name: 'bash', args: {}, type: 'tool_call' as const });
const parts = [{ type: 'thinking', signature: 's' }, { text: 2 }, { call: 'c1' }, { call: 'c2' }];
const answer: AiMessage = {
  type: 'ai',
  id: 'a1',
  content: 'hi',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [call('c1'), call('c2')],
  invalid_tool_calls: [],
  provider_extras: {
    provider: 'p',
    model: 'm',
    dialect: 'd',
    message: { a: 1 },
    calls: { c1: { s: 1 }, c2: { s: 2 } },
    parts,
  },
};

describe(withFittingExtras, () => {
  test('an answer whose content and calls are the same is returned as it is', () => {
    expect(withFittingExtras(answer, answer)).toBe(answer);
    const marked = { ...answer, additional_kwargs: { mark: true } };
    expect(withFittingExtras(answer, marked)).toBe(marked);
  });

  test('a dropped call takes its extras and its part with it', () => {
    const { provider_extras: extras } = withFittingExtras(answer, { ...answer, tool_calls: [call('c2')] });
    expect(extras).toMatchObject({ message: { a: 1 }, calls: { c2: { s: 2 } } });
    expect(extras?.calls).not.toHaveProperty('c1');
    expect(extras?.parts).toEqual([parts[0], parts[1], parts[3]]);
  });

  test('changed content takes all parts with it', () => {
    const { provider_extras: extras } = withFittingExtras(answer, { ...answer, content: 'ho' });
    expect(extras).not.toHaveProperty('parts');
    expect(extras?.calls).toEqual(answer.provider_extras?.calls);
  });
});

test('a message that replaces an answer in the state has the extras that fit it', () => {
  const replaced = applyUpdate({ messages: [answer] }, { messages: [{ ...answer, content: 'ho', tool_calls: [] }] });
  const [message] = replaced.messages;
  expect(message?.type === 'ai' && message.provider_extras).toEqual({
    provider: 'p',
    model: 'm',
    dialect: 'd',
    message: { a: 1 },
  });
});

import type { AiMessage, Message } from '@caribou/contracts';
import { fakeRun, humanMessage } from '@caribou/testing';
import { memory } from './memory.js';

const ai = (content: AiMessage['content'], overrides: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a',
  content,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
  ...overrides,
});
const call = { name: 'bash', args: {}, id: 'c', type: 'tool_call' } as const;
const handedOver = async (messages: readonly Message[], enabled = true): Promise<boolean> => {
  const run = fakeRun();
  expect(await memory({ enabled }).afterAgent?.({ messages: [...messages] }, run)).toBeUndefined();
  return run.isMemorable;
};

describe(memory, () => {
  test('an exchange of a person and the agent is handed over, and the decision recorded', async () => {
    const run = fakeRun();
    await memory().afterAgent?.({ messages: [humanMessage('I live in Oslo.'), ai('Noted.')] }, run);
    expect(run.decisions).toEqual(['memory: handed over']);
    expect(await handedOver([humanMessage('hi'), ai([{ type: 'text', text: 'Hello' }])])).toBe(true);
  });

  test.each<[string, readonly Message[]]>([
    ['without an answer', [humanMessage('hi')]],
    ['without a person', [ai('Hello')]],
    ['whose answer only calls tools', [humanMessage('hi'), ai('', { tool_calls: [call] })]],
    [
      'whose answer is an error',
      [humanMessage('hi'), ai('sorry', { additional_kwargs: { deerflow_error_fallback: true } })],
    ],
    ['whose answer is empty', [humanMessage('hi'), ai(' ')]],
    [
      'whose person said nothing but files',
      [{ ...humanMessage('x'), additional_kwargs: { original_user_content: '' } }, ai('ok')],
    ],
    ['whose last human message a middleware wrote', [{ ...humanMessage('mind'), name: 'todo_reminder' }, ai('ok')]],
    ['that was answered before the last words', [ai('ok'), humanMessage('hi')]],
  ])('an exchange %s is not', async (_what, messages) => {
    expect(await handedOver(messages)).toBe(false);
  });

  test('it can be switched off', async () => {
    expect(await handedOver([humanMessage('hi'), ai('Hello')], false)).toBe(false);
  });
});

import { AnswerAssembly } from './answer-assembly.js';

const model = { name: 'm', endpoint: { provider: 'api.example.org/v1', model: 'm-1' }, dialect: 'gemini' };
const assembly = () => new AnswerAssembly({ messageId: 'a1', node: 'model_request', step: 1, model });
const chunk = (index: number) => ({ name: 'bash', args: '{}', id: 'call_0', index, type: 'tool_call_chunk' as const });

describe('extras of an answer', () => {
  test('are joined over its deltas, and refer to calls by the ids of the message', () => {
    const answer = assembly();
    expect(answer.add({ extras: { message: { a: 1 }, parts: [{ type: 'thinking' }] } })).toBeUndefined();
    answer.add({ content: 'hi', extras: { parts: [{ text: 2 }] } });
    answer.add({ toolCallChunks: [chunk(0), chunk(1)], extras: { calls: { 0: { sig: 'x' }, 1: { sig: 'y' } } } });
    answer.add({
      extras: { message: { b: 2 }, calls: { 1: { sig: 'z', more: 1 } }, parts: [{ call: 1 }, { call: 0 }] },
    });
    answer.add({ finishReason: 'tool_calls' });
    const { provider_extras: extras, tool_calls: calls } = answer.message();
    const [first = '', second = ''] = calls.map(({ id }) => id);
    expect(extras).toEqual({
      provider: 'api.example.org/v1',
      model: 'm-1',
      dialect: 'gemini',
      message: { a: 1, b: 2 },
      calls: { [first]: { sig: 'x' }, [second]: { sig: 'z', more: 1 } },
      parts: [{ type: 'thinking' }, { text: 2 }, { call: second }, { call: first }],
    });
  });

  test('of calls that the answer does not have are left out, and without any there is no field', () => {
    const answer = assembly();
    answer.add({ content: 'hi', extras: { calls: { 3: { sig: 'x' } }, parts: [{ call: 3 }] } });
    answer.add({ finishReason: 'stop' });
    expect(answer.message()).not.toHaveProperty('provider_extras');
  });
});

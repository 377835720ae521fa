import type { AiMessage } from '@caribou/contracts';
import { callIds, isStopped, markStopped, meansToCall, toStoppedAnswer, withoutCalls } from './strip-tool-calls.js';

const call = (id: string) => ({ name: 'bash', args: {}, id, type: 'tool_call' as const });
const broken = (id: string) => ({
  name: 'bash',
  args: '{',
  id,
  error: 'cut',
  type: 'invalid_tool_call' as const,
});
const answer = (fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a1',
  content: 'Looking.',
  additional_kwargs: {},
  response_metadata: { finish_reason: 'tool_calls', model_name: 'm' },
  tool_calls: [],
  invalid_tool_calls: [],
  ...fields,
});

describe(withoutCalls, () => {
  test('the calls that stay keep their order, and the message its id, text and finish reason', () => {
    const message = answer({ tool_calls: [call('1'), call('2'), call('3')], invalid_tool_calls: [broken('4')] });

    expect(withoutCalls(message, new Set(['2', '4']))).toEqual(answer({ tool_calls: [call('1'), call('3')] }));
  });

  test('without any call left the message has finished by stop, in either of the usual fields', () => {
    const message = answer({
      tool_calls: [call('1')],
      response_metadata: { stop_reason: 'tool_use', model_name: 'm' },
    });

    expect(withoutCalls(message, new Set(['1'])).response_metadata).toEqual({ finish_reason: 'stop', model_name: 'm' });
  });

  test("the provider's account of a call goes with it", () => {
    const use = (id: string) => ({ type: 'tool_use', id });
    const message = answer({
      tool_calls: [call('1'), call('2')],
      content: [{ type: 'text', text: 'x' }, use('1'), use('2')],
      additional_kwargs: { tool_calls: [{ id: '1' }, { id: '2' }], function_call: { name: 'bash' }, kept: true },
    });

    const cut = withoutCalls(message, new Set(['1']));

    expect(cut.content).toEqual([{ type: 'text', text: 'x' }, use('2')]);
    expect(cut.additional_kwargs).toEqual({ tool_calls: [{ id: '2' }], kept: true });
  });

  test("an account under the provider's own ids goes as a whole", () => {
    const message = answer({
      tool_calls: [call('1'), call('2')],
      additional_kwargs: { tool_calls: [{ id: 'p1' }, { id: 'p2' }] },
    });

    expect(withoutCalls(message, new Set(['1'])).additional_kwargs).toEqual({});
  });
});

describe(toStoppedAnswer, () => {
  test('no call, valid or not, is left; a note and the mark are put on it', () => {
    const message = answer({ tool_calls: [call('1')], invalid_tool_calls: [broken('2')] });

    const stopped = toStoppedAnswer(message, '[STOP] enough', 'loop_capped');

    expect(stopped).toMatchObject({ id: 'a1', content: 'Looking.\n\n[STOP] enough', tool_calls: [] });
    expect(callIds(stopped)).toEqual(new Set());
    expect([isStopped(stopped), isStopped(message), isStopped(markStopped(message, 'x'))]).toEqual([true, false, true]);
    expect(meansToCall(stopped)).toBe(false);
  });
});

test('null content of another middleware counts as empty', () => {
  const message: AiMessage = JSON.parse(JSON.stringify({ ...answer({ tool_calls: [call('1')] }), content: null }));

  expect(meansToCall(message)).toBe(true);
  expect(toStoppedAnswer(message, 'note', 'loop_capped').content).toBe('note');
});

describe(meansToCall, () => {
  test.each([
    { tool_calls: [call('1')] },
    { invalid_tool_calls: [broken('1')] },
    { additional_kwargs: { tool_calls: [{}] } },
    { additional_kwargs: { function_call: {} } },
    { response_metadata: { finish_reason: 'tool_calls' } },
    { response_metadata: { stop_reason: 'tool_use' } },
    { content: [{ type: 'tool_use' }] },
  ])('%j does', (fields) => {
    expect(meansToCall(answer({ response_metadata: { finish_reason: 'stop' }, ...fields }))).toBe(true);
  });
});

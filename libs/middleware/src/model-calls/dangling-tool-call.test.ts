import type { AiMessage, Message, ToolMessage } from '@caribou/contracts';
import { humanMessage, transcriptFaults } from '@caribou/testing';
import fc from 'fast-check';
import { INTERRUPTED, repairToolCalls } from './dangling-tool-call.js';

const asks = (id: string, ...calls: readonly string[]): AiMessage => ({
  type: 'ai',
  id,
  content: '',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: calls.map((call) => ({ name: 'bash', args: {}, id: call, type: 'tool_call' })),
  invalid_tool_calls: [],
});
const result = (id: string, content = `result of ${id}`): ToolMessage => ({
  type: 'tool',
  id: `tool:${id}`,
  content,
  name: 'bash',
  tool_call_id: id,
  status: 'success',
  additional_kwargs: {},
  response_metadata: {},
});
const interrupted = (id: string, name = 'bash', content = INTERRUPTED): ToolMessage => ({
  ...result(id, content),
  id: `interrupted:${id}`,
  name,
  status: 'error',
});

const callId = fc.constantFrom('c1', 'c2', 'c3', '');
const name = fc.constantFrom('bash', '', 'no such tool!', 'x'.repeat(70));
const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.constant(humanMessage('hi', 'h')),
  callId.map((id) => result(id)),
  fc
    .record({
      valid: fc.array(fc.record({ id: callId, name }), { maxLength: 3 }),
      invalid: fc.array(fc.record({ id: callId, name }), { maxLength: 2 }),
    })
    .map(
      ({ valid, invalid }): AiMessage => ({
        ...asks('a'),
        tool_calls: valid.map((call) => ({ ...call, args: {}, type: 'tool_call' })),
        invalid_tool_calls: invalid.map((call) => ({ ...call, args: '{', error: 'bad', type: 'invalid_tool_call' })),
      }),
    ),
);

describe(repairToolCalls, () => {
  test('any list of messages becomes one a strict provider takes', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), (messages) => {
        expect(transcriptFaults(repairToolCalls(messages))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('a repaired history is complete: repairing it again gives the same array', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), (messages) => {
        const repaired = repairToolCalls(messages);

        expect(repairToolCalls(repaired)).toBe(repaired);
      }),
    );
  });

  test('nothing but tool messages is lost, and their order stays', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), (messages) => {
        const others = (list: readonly Message[]): readonly string[] =>
          list.filter((message) => message.type !== 'tool').map((message) => message.type);

        expect(others(repairToolCalls(messages))).toEqual(others(messages));
      }),
    );
  });

  test('a complete history comes back as the same array', () => {
    const history = [humanMessage('hi'), asks('a1', 'c1', 'c2'), result('c1'), result('c2'), asks('a2')];

    expect(repairToolCalls(history)).toBe(history);
  });

  test('a call interrupted by the user is answered directly after its message', () => {
    const stop = humanMessage('stop, do this instead');

    expect(repairToolCalls([asks('a1', 'c1', 'c2'), result('c1'), stop])).toEqual([
      asks('a1', 'c1', 'c2'),
      result('c1'),
      interrupted('c2'),
      stop,
    ]);
  });

  test('late results move behind the message that asked, in call order; orphans go', () => {
    const between = humanMessage('hm');

    expect(repairToolCalls([asks('a1', 'c1', 'c2'), between, result('c2'), result('c9'), result('c1')])).toEqual([
      asks('a1', 'c1', 'c2'),
      result('c1'),
      result('c2'),
      between,
    ]);
  });

  test('an invalid call becomes a call without arguments, answered by its parse error', () => {
    const broken: AiMessage = {
      ...asks('a1'),
      invalid_tool_calls: [{ name: 'bash', args: '{"x', id: 'c1', error: 'e'.repeat(600), type: 'invalid_tool_call' }],
    };

    expect(repairToolCalls([broken])).toEqual([asks('a1', 'c1'), interrupted('c1', 'bash', 'e'.repeat(500))]);
  });

  test('a result of an id that was asked for twice belongs to the newest message', () => {
    const history = [asks('a1', 'c1'), result('c1', 'first'), asks('a2', 'c1'), result('c1', 'second')];

    const repaired = repairToolCalls(history);

    expect(repaired.map((message) => message.content)).toEqual(['', 'first', '', 'second']);
    expect(transcriptFaults(repaired)).toEqual([]);
  });

  test('an empty name is called unknown_tool', () => {
    const nameless: AiMessage = { ...asks('a1'), tool_calls: [{ name: '', args: {}, id: 'c1', type: 'tool_call' }] };

    expect(repairToolCalls([nameless])[1]).toEqual(interrupted('c1', 'unknown_tool'));
  });
});

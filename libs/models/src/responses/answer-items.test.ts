import type { AiMessage, Message } from '@caribou/contracts';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { callItem, eventsOf, messageItem, type OutputItem, reasoningItem } from '../testing/response-events.js';
import { storedAnswer } from '../testing/stored-answer.js';
import { EventReader } from './event-reader.js';
import { toInput } from './to-input.js';

const origin = { provider: 'api.example.org/v1', model: 'm-1', dialect: 'responses' };

function storedFrom(events: readonly unknown[]): AiMessage {
  const reader = new EventReader();
  const deltas = events.flatMap((event) => {
    const chunk = reader.read(event);
    return chunk.kind === 'delta' ? [chunk.delta] : [];
  });
  return storedAnswer([...deltas, reader.last()], origin);
}
const answerOf = (...output: OutputItem[]): AiMessage => storedFrom(eventsOf(output));
const itemsOf = (message: Message): ResponseInputItem[] => toInput('', [message], origin);

/** A reasoning item as it is sent back. */
const reasoning = (id: string) => ({ id, type: 'reasoning', encrypted_content: `gAAAAAB-${id}`, summary: [] });
const output = (id: string, text: string, phase?: string) => ({
  ...{ type: 'message', role: 'assistant', id, status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
  ...(phase === undefined ? {} : { phase }),
});
const call = (index: number, args: string, id?: string) => ({
  ...{ type: 'function_call', name: 'ls', arguments: args },
  ...(id === undefined ? { call_id: `call-${index}` } : { id, call_id: `call_of_${id}` }),
});
const plain = (content: string) => ({ type: 'message', role: 'assistant', content });

describe('an answer of the same provider and model', () => {
  test('is its output in order, with ids, phases and encrypted reasoning', () => {
    const answer = answerOf(
      reasoningItem('rs_1'),
      messageItem('msg_1', 'I look.', 'commentary'),
      callItem('fc_1', 'ls', '{"a": 1}'),
      reasoningItem('rs_2'),
      messageItem('msg_2', 'Grüße 🦌', 'final_answer'),
      callItem('fc_2', 'ls', '{}'),
    );

    expect(answer.content).toBe('I look.\n\nGrüße 🦌');
    expect(itemsOf(answer)).toEqual([
      reasoning('rs_1'),
      output('msg_1', 'I look.', 'commentary'),
      call(0, '{"a": 1}', 'fc_1'),
      reasoning('rs_2'),
      output('msg_2', 'Grüße 🦌', 'final_answer'),
      call(1, '{}', 'fc_2'),
    ]);
  });

  test('has the results of its calls by the ids of the provider, and its changed arguments', () => {
    const answer = answerOf(callItem('fc_1', 'ls', '{"a": 1}'));
    const edited = { ...answer, tool_calls: answer.tool_calls.map((one) => ({ ...one, args: { a: 2 } })) };
    const common = { name: 'ls', status: 'success' as const, additional_kwargs: {}, response_metadata: {} };
    const result: Message = { type: 'tool', id: 't', tool_call_id: 'call-0', content: 'out', ...common };
    expect(toInput('', [edited, result], origin)).toEqual([
      call(0, '{"a":2}', 'fc_1'),
      { type: 'function_call_output', call_id: 'call_of_fc_1', output: 'out' },
    ]);
  });

  test('has our ids for calls whose ids the provider repeats or makes too long', () => {
    const withId = (id: string, call_id: string) => ({ ...callItem(id, 'ls', '{}'), call_id });
    const answer = answerOf(withId('fc_1', 'call_0'), withId('fc_2', 'call_0'), withId('fc_3', 'x'.repeat(65)));
    expect(itemsOf(answer)).toMatchObject([{ call_id: 'call_0' }, { call_id: 'call-1' }, { call_id: 'call-2' }]);
  });

  test('has its refusals as refusals', () => {
    const items = itemsOf(answerOf(messageItem('msg_1', [{ type: 'refusal', refusal: 'No.' }])));
    expect(items).toEqual([{ ...output('msg_1', ''), content: [{ type: 'refusal', refusal: 'No.' }] }]);
  });

  test('lacks reasoning that nothing followed, whether there is other output or not', () => {
    expect(itemsOf(answerOf(reasoningItem('rs_1')))).toEqual([]);
    expect(itemsOf(answerOf(reasoningItem('rs_1'), messageItem('msg_1', 'Hi'), reasoningItem('rs_2')))).toEqual([
      reasoning('rs_1'),
      output('msg_1', 'Hi'),
    ]);
  });

  test('has no ids when its reasoning cannot be read, but its phases and order', () => {
    const { encrypted_content: _none, ...bare } = reasoningItem('rs_1');
    const answer = answerOf(bare, callItem('fc_1', 'ls', '{}'), messageItem('msg_1', 'Hi', 'commentary'));
    expect(itemsOf(answer)).toEqual([call(0, '{}'), { ...plain('Hi'), phase: 'commentary' }]);
  });

  test('has the reasoning of open models, which is not encrypted', () => {
    const content = [{ type: 'reasoning_text' as const, text: 'hm' }];
    const answer = answerOf({ id: 'rs_1', type: 'reasoning', summary: [], content }, messageItem('msg_1', 'Hi'));
    expect(itemsOf(answer)).toEqual([{ id: 'rs_1', type: 'reasoning', summary: [], content }, output('msg_1', 'Hi')]);
  });

  test('has the items of tools of the provider as they came', () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } };
    const answer = storedFrom([
      { type: 'response.output_item.done', output_index: 0, item: search },
      { type: 'response.output_item.done', output_index: 1, item: messageItem('msg_1', 'Found') },
      { type: 'response.completed', response: { output: [] } },
    ]);
    expect(itemsOf(answer)).toEqual([search, output('msg_1', 'Found')]);
  });
});

describe('an answer that is not as it was', () => {
  const whole = answerOf(
    reasoningItem('rs_1'),
    messageItem('msg_1', 'Hi'),
    callItem('fc_1', 'ls', '{}'),
    callItem('fc_2', 'ls', '{}'),
  );
  const extras = whole.provider_extras;
  if (extras?.parts === undefined) throw new Error('the answer has parts');
  const plainly = [plain('Hi'), call(0, '{}'), call(1, '{}')];
  const [first, second] = whole.tool_calls;
  if (first === undefined || second === undefined) throw new Error('the answer has two calls');

  const changes: [string, AiMessage, unknown[]][] = [
    ['of another provider', { ...whole, provider_extras: { ...extras, provider: 'other/v1' } }, plainly],
    ['of another model', { ...whole, provider_extras: { ...extras, model: 'm-2' } }, plainly],
    ['of another protocol', { ...whole, provider_extras: { ...extras, dialect: 'openai' } }, plainly],
    ['with a longer text', { ...whole, content: 'Hi!' }, [plain('Hi!'), ...plainly.slice(1)]],
    ['with a shorter text', { ...whole, content: 'H' }, [plain('H'), ...plainly.slice(1)]],
    ['with content that is no text', { ...whole, content: [{ type: 'text', text: 'Hi' }] }, plainly],
    [
      'with a part that was dropped',
      { ...whole, tool_calls: [first], provider_extras: { ...extras, parts: extras.parts.slice(0, -1) } },
      plainly.slice(0, 2),
    ],
    ['with a call that was dropped', { ...whole, tool_calls: [first] }, plainly.slice(0, 2)],
    [
      'with a call that was added',
      { ...whole, tool_calls: [first, second, { ...second, id: 'call-2' }] },
      [...plainly, call(2, '{}')],
    ],
    ['without parts', { ...whole, provider_extras: { ...extras, parts: undefined } }, plainly],
    [
      'with parts of an unknown shape',
      { ...whole, provider_extras: { ...extras, message: { parts: 2 }, parts: [7, { text: 'x' }] } },
      plainly,
    ],
  ];

  test.each(changes)('%s is its text and calls, without ids and reasoning', (_, message, items) => {
    expect(itemsOf(message)).toEqual(items);
  });

  test('because it was cut is its text', () => {
    const events = eventsOf([reasoningItem('rs_1'), messageItem('msg_1', 'Hi')]).slice(0, -2);
    const response = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] };
    expect(itemsOf(storedFrom([...events, { type: 'response.incomplete', response }]))).toEqual([plain('Hi')]);
  });

  test('because its arguments are invalid has none', () => {
    const invalid = { id: 'call-1', name: 'ls', args: '{"a', error: 'cut', type: 'invalid_tool_call' as const };
    const message = { ...whole, tool_calls: [first], invalid_tool_calls: [invalid] };
    expect(itemsOf(message).slice(-2)).toEqual([call(0, '{}', 'fc_1'), call(1, '{}', 'fc_2')]);
    expect(itemsOf({ ...message, provider_extras: undefined })).toEqual(plainly);
  });

  test('and has neither text nor calls is nothing', () => {
    expect(itemsOf({ ...whole, content: '', tool_calls: [] })).toEqual([]);
  });
});

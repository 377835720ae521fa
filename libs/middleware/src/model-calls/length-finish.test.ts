import type { AiMessage, InvalidToolCall, Message, ToolCall } from '@caribou/contracts';
import { fakeRun, humanMessage } from '@caribou/testing';
import { lengthFinish } from './length-finish.js';

const call = (id: string, args: Readonly<Record<string, unknown>>): ToolCall => ({
  name: 'write_file',
  args,
  id,
  type: 'tool_call',
});
const broken = (id: string): InvalidToolCall => ({
  name: 'write_file',
  args: '{"path": "a", "content": "half a sen',
  id,
  error: 'The arguments are not valid JSON.',
  type: 'invalid_tool_call',
});

const answer = (finish: string | undefined, fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a',
  content: '',
  additional_kwargs: { reasoning_content: 'hm' },
  response_metadata: finish === undefined ? {} : { finish_reason: finish },
  tool_calls: [],
  invalid_tool_calls: [],
  ...fields,
});

async function finished(message: Message) {
  const run = fakeRun();
  const step = await lengthFinish().afterModel?.({ messages: [humanMessage('hi'), message] }, run);
  const changed = step?.update?.messages?.[0];
  return { step, run, changed: changed?.type === 'ai' ? changed : undefined };
}

describe(lengthFinish, () => {
  test.each(['length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens'])('%s is put on record', async (reason) => {
    const { step, changed, run } = await finished(answer(reason, { content: 'Once upon a' }));

    expect(step?.stopReason).toBe('model_length_capped');
    expect(step?.end).toBeUndefined();
    expect(changed).toMatchObject({ id: 'a', content: 'Once upon a' });
    expect(changed?.additional_kwargs).toEqual({
      reasoning_content: 'hm',
      model_length_termination: {
        reason_field: 'finish_reason',
        reason_value: reason.toLowerCase(),
        suppressed_tool_call_count: 0,
        suppressed_tool_call_names: [],
      },
    });
    expect(run.decisions).toEqual(['length-finish: capped']);
  });

  test('an answer that was ended at a limit of the product says which', async () => {
    const metadata = { finish_reason: 'length', answer_limit_chars: 4_000 };
    const { changed } = await finished(answer('length', { content: '', response_metadata: metadata }));

    expect(changed?.content).toContain('limit of 4000 characters');
    expect(changed?.additional_kwargs).toMatchObject({ model_length_termination: { limit_chars: 4_000 } });
  });

  test('an answer of which only thoughts came gets a visible note', async () => {
    const { changed } = await finished(answer('length', { content: '<think>so much to think' }));

    expect(changed?.content).toMatch(/\n\nThe answer reached the longest output of the model before it was complete\./);
  });

  test('the truncated call is not executed, those before it are; the model is asked to write less', async () => {
    const whole = call('c1', { path: 'a', content: 'b' });
    const { changed } = await finished(answer('length', { tool_calls: [whole], invalid_tool_calls: [broken('c2')] }));

    expect(changed?.tool_calls).toEqual([whole]);
    expect(changed?.invalid_tool_calls).toEqual([
      { ...broken('c2'), error: expect.stringMatching(/cut off\. Write less at once/) as string },
    ]);
    expect(changed?.additional_kwargs['model_length_termination']).toMatchObject({
      suppressed_tool_call_count: 1,
      suppressed_tool_call_names: ['write_file'],
    });
    expect(changed?.content).toBe('');
  });

  test('a last call without arguments may have been cut before they began', async () => {
    const { changed } = await finished(answer('length', { tool_calls: [call('c1', {}), call('c2', {})] }));

    expect(changed?.tool_calls).toEqual([call('c1', {})]);
    expect(changed?.invalid_tool_calls).toMatchObject([{ id: 'c2', name: 'write_file', args: '' }]);
  });

  test('one without arguments before the call that was cut is whole, as is a last one with arguments', async () => {
    const [empty, full] = [call('c1', {}), call('c2', { path: 'a' })];

    const before = await finished(answer('length', { tool_calls: [empty], invalid_tool_calls: [broken('c3')] }));
    const last = await finished(answer('length', { tool_calls: [empty, full] }));

    expect(before.changed?.tool_calls).toEqual([empty]);
    expect(last.changed?.tool_calls).toEqual([empty, full]);
    expect(last.changed?.invalid_tool_calls).toEqual([]);
  });

  test.each(['stop', 'tool_calls', 'content_filter', undefined])('%s is left alone', async (reason) => {
    expect((await finished(answer(reason, { invalid_tool_calls: [broken('c1')] }))).step).toBeUndefined();
  });

  test('without a last answer there is nothing to do', async () => {
    expect((await finished(humanMessage('more'))).step).toBeUndefined();
  });
});

import type { AiMessage, Message } from '@caribou/contracts';
import { fakeRun, humanMessage } from '@caribou/testing';
import { safetyFinish, type SafetyFinishOptions } from './safety-finish.js';

const write = { name: 'write_file', args: { path: 'a', content: 'half a sen' }, id: 'c1', type: 'tool_call' } as const;
const cut = { name: 'bash', args: '{"comm', id: 'c2', error: 'no JSON', type: 'invalid_tool_call' } as const;

const answer = (finish: string | undefined, fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a',
  content: '',
  additional_kwargs: { reasoning_content: 'hm' },
  response_metadata: finish === undefined ? {} : { finish_reason: finish, model_name: 'm' },
  tool_calls: [],
  invalid_tool_calls: [],
  ...fields,
});

async function finished(message: Message, options?: SafetyFinishOptions) {
  const run = fakeRun();
  const step = await safetyFinish(options).afterModel?.({ messages: [humanMessage('hi'), message] }, run);
  const changed = step?.update?.messages?.[0];
  return { step, run, changed: changed?.type === 'ai' ? changed : undefined };
}

describe(safetyFinish, () => {
  test.each(['content_filter', 'refusal', 'SAFETY', 'Prohibited_Content', 'RECITATION', 'sensitive'])(
    'calls of an answer that ended with %s are dropped, and the run stops for it',
    async (reason) => {
      const { step, changed, run } = await finished(
        answer(reason, { content: 'I write it.', tool_calls: [write], invalid_tool_calls: [cut] }),
      );

      expect(step?.stopReason).toBe('safety');
      expect(step?.again).toBeUndefined();
      expect(changed).toMatchObject({ id: 'a', tool_calls: [], invalid_tool_calls: [] });
      expect(changed?.content).toMatch(
        /^I write it\.\n\nThe model provider stopped this answer by its safety filter\./,
      );
      expect(run.decisions).toEqual(['safety-finish: stopped']);
    },
  );

  test('the message and an event say which tools were not called and why; what was in the message stays', async () => {
    const { changed, run } = await finished(answer('content_filter', { tool_calls: [write, { ...write, id: 'c3' }] }));

    const termination = {
      reason_field: 'finish_reason',
      reason_value: 'content_filter',
      suppressed_tool_call_count: 2,
      suppressed_tool_call_names: ['write_file'],
    };
    expect(changed?.additional_kwargs).toEqual({ reasoning_content: 'hm', safety_termination: termination });
    expect(changed?.response_metadata).toEqual({ finish_reason: 'content_filter', model_name: 'm' });
    expect(run.events).toEqual([{ kind: 'custom', data: { type: 'safety_termination', ...termination } }]);
  });

  test('an answer without text gets a visible note, one with text keeps it as it is', async () => {
    expect((await finished(answer('content_filter'))).changed?.content).toMatch(/^The model provider stopped/);

    const { changed, step } = await finished(answer('content_filter', { content: 'Once upon a' }));
    expect(changed?.content).toBe('Once upon a');
    expect(step?.stopReason).toBe('safety');
  });

  test('blocks stay blocks', async () => {
    const { changed } = await finished(
      answer('refusal', { content: [{ type: 'thinking', thinking: 'hm' }], tool_calls: [write] }),
    );

    expect(changed?.content).toEqual([
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: expect.stringMatching(/^The model provider stopped/) as string },
    ]);
  });

  test.each(['stop', 'tool_calls', 'length', undefined])(
    'an answer that ended with %s is left alone',
    async (reason) => {
      const { step, run } = await finished(answer(reason, { tool_calls: [write] }));

      expect(step).toBeUndefined();
      expect(run.events).toEqual([]);
    },
  );

  test('it can be switched off', async () => {
    expect((await finished(answer('refusal', { tool_calls: [write] }), { enabled: false })).step).toBeUndefined();
  });

  test('without a last answer there is nothing to do', async () => {
    expect((await finished(humanMessage('more'))).step).toBeUndefined();
    expect(await safetyFinish().afterModel?.({ messages: [] }, fakeRun())).toBeUndefined();
  });
});

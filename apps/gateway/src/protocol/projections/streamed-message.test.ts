import type { AiMessage, RunEventOf } from '@caribou/contracts';
import { type MessagesData, StreamedMessage } from './streamed-message.js';

type Delta = RunEventOf<'message.delta'>;

const delta = (over: Partial<Delta>): Delta => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: 'm',
  content: '',
  ...over,
});
const chunk = (index: number, args: string, start?: { id: string; name: string }) =>
  ({ type: 'tool_call_chunk', index, args, id: start?.id ?? null, name: start?.name ?? null }) as const;
const answer = (over: Partial<AiMessage>): AiMessage => ({
  type: 'ai',
  id: 'm',
  content: '',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
  ...over,
});

const short = (data: readonly MessagesData[]): unknown[] =>
  data.map(({ event, index, content, delta: piece }) => [event.replace('content-block-', ''), index, content ?? piece]);

/** No block begins before the one before it has ended, and each grows only while it is open. */
function expectNoInterleaving(data: readonly MessagesData[]): void {
  let open: unknown;
  for (const { event, index } of data) {
    if (event === 'content-block-start') {
      expect(open).toBeUndefined();
      open = index;
    } else if (event === 'content-block-delta') expect(index).toBe(open);
    else if (index === open) open = undefined;
  }
  expect(open).toBeUndefined();
}

describe(StreamedMessage, () => {
  test('reasoning, text and calls are blocks one after the other', () => {
    const message = new StreamedMessage();
    const data = [
      ...message.take(delta({ reasoning: 'Hm' })),
      ...message.take(delta({ reasoning: '.', content: 'Yes' })),
      ...message.take(delta({ content: ' sir' })),
      ...message.take(delta({ tool_call_chunks: [chunk(0, '{"a"', { id: 'c1', name: 'ls' })] })),
      ...message.take(delta({ tool_call_chunks: [chunk(0, ':1}'), chunk(1, '', { id: 'c2', name: 'bash' })] })),
      ...message.take(delta({ tool_call_chunks: [chunk(1, '{}')] })),
    ];
    const calls = [
      { id: 'c1', name: 'ls', args: { a: 1 }, type: 'tool_call' as const },
      { id: 'c2', name: 'bash', args: {}, type: 'tool_call' as const },
    ];
    data.push(
      ...message.finish(
        answer({ content: 'Yes sir', tool_calls: calls, additional_kwargs: { reasoning_content: 'Hm.' } }),
      ),
    );

    expectNoInterleaving(data);
    expect(short(data)).toEqual([
      ['start', 0, { type: 'reasoning', reasoning: '' }],
      ['delta', 0, { type: 'reasoning-delta', reasoning: 'Hm' }],
      ['delta', 0, { type: 'reasoning-delta', reasoning: '.' }],
      ['finish', 0, { type: 'reasoning', reasoning: 'Hm.' }],
      ['start', 1, { type: 'text', text: '' }],
      ['delta', 1, { type: 'text-delta', text: 'Yes' }],
      ['delta', 1, { type: 'text-delta', text: ' sir' }],
      ['finish', 1, { type: 'text', text: 'Yes sir' }],
      ['start', 2, { type: 'tool_call_chunk', id: 'c1', name: 'ls', args: '{"a"' }],
      ['delta', 2, { type: 'tool-call-delta', args: ':1}' }],
      ['finish', 2, { type: 'tool_call', id: 'c1', name: 'ls', args: { a: 1 } }],
      ['start', 3, { type: 'tool_call_chunk', id: 'c2', name: 'bash', args: '' }],
      ['delta', 3, { type: 'tool-call-delta', args: '{}' }],
      ['finish', 3, { type: 'tool_call', id: 'c2', name: 'bash', args: {} }],
    ]);
  });

  test('a piece of a call that has ended is in the call as it is stored', () => {
    const message = new StreamedMessage();
    const data = [
      ...message.take(delta({ tool_call_chunks: [chunk(0, '{"a":', { id: 'c1', name: 'ls' })] })),
      ...message.take(delta({ tool_call_chunks: [chunk(1, '{}', { id: 'c2', name: 'ls' }), chunk(0, '1}')] })),
    ];
    const calls = [
      { id: 'c1', name: 'ls', args: { a: 1 }, type: 'tool_call' as const },
      { id: 'c2', name: 'ls', args: {}, type: 'tool_call' as const },
    ];
    data.push(...message.finish(answer({ tool_calls: calls })));

    expectNoInterleaving(data);
    const finishes = data.filter(({ event, index }) => event === 'content-block-finish' && index === 0);
    expect(finishes.at(0)?.['content']).toMatchObject({ type: 'invalid_tool_call', args: '{"a":' });
    expect(finishes.at(-1)?.['content']).toEqual({ type: 'tool_call', id: 'c1', name: 'ls', args: { a: 1 } });
  });

  test('an answer that was not streamed is shown whole, with its media', () => {
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: 'https://x.example/a.png' },
      { type: 'audio', base64: 'BBBB', mime_type: 'audio/wav' },
      { type: 'of_provider', x: 1 },
    ];
    const data = new StreamedMessage().finish(answer({ content, additional_kwargs: { reasoning_content: 'Hm' } }));
    expectNoInterleaving(data);
    expect(data.filter(({ event }) => event === 'content-block-finish').map(({ content: block }) => block)).toEqual([
      { type: 'reasoning', reasoning: 'Hm' },
      { type: 'text', text: 'Look' },
      { type: 'image', mime_type: 'image/png', base64: 'AAAA' },
      { type: 'image', url: 'https://x.example/a.png' },
      { type: 'audio', base64: 'BBBB', mime_type: 'audio/wav' },
      { type: 'non_standard', value: { type: 'of_provider', x: 1 } },
    ]);
  });

  test('a call whose arguments are no JSON is invalid', () => {
    const message = new StreamedMessage();
    const data = message.take(delta({ tool_call_chunks: [chunk(0, '{"a', { id: 'c1', name: 'ls' })] }));
    const invalid = { id: 'c1', name: 'ls', args: '{"a', error: 'bad', type: 'invalid_tool_call' as const };
    data.push(...message.finish(answer({ invalid_tool_calls: [invalid] })));
    expect(data.at(-1)).toMatchObject({ event: 'content-block-finish', content: invalid });
  });
});

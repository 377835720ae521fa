import type { ModelConfig } from '@caribou/config';
import type { Message } from '@caribou/contracts';
import { answer, claude, extrasOf, human, messageEnd, messageStart, result, sse, toolCall } from '../testing/claude.js';
import {
  closeServersAfterEach,
  failureOf,
  modelAt,
  never,
  read,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';

closeServersAfterEach();

interface Sent {
  readonly thinking?: unknown;
  readonly messages: readonly { readonly content: readonly { readonly type: string }[] }[];
}

const texts = [
  'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
  'messages.1.content.0: Invalid `data` in `redacted_thinking` block',
  'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
];
const refusal = (message = texts[0]): string =>
  JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } });

/** A server that refuses thoughts with the text, or every request. */
async function serverOf(sent: Sent[], text: string | undefined, refusesAll = false): Promise<string> {
  return serve((response, _, body) => {
    sent.push(JSON.parse(body) as Sent);
    if (refusesAll || body.includes('"signature"')) response.writeHead(400).end(refusal(text));
    else response.writeHead(200, STREAM_HEADERS).end(sse(messageStart(), ...messageEnd('end_turn')));
  });
}

function conversationOf(model: ModelConfig): Message[] {
  const thoughts = [
    { type: 'thinking', thinking: 'hm', signature: 'old' },
    { type: 'redacted_thinking', data: 'x' },
  ];
  const extras = extrasOf(model, { parts: [...thoughts, { text: 2 }, { call: 'call_1' }] });
  return [
    human('a'),
    answer('hi', { tool_calls: [toolCall('call_1')], provider_extras: extras }),
    result('call_1', 'done'),
  ];
}

const ask = (baseUrl: string, name: string, messages?: Message[]) => {
  const model = claude(name, {}, { name: 'm', baseUrl });
  const call = { system: '', messages: messages ?? conversationOf(model), tools: [], thinkingEnabled: true };
  return modelAt(baseUrl, {}, model).stream(call, { userId: 'alice', signal: never });
};

describe('thoughts that the endpoint refuses', () => {
  test.each(texts)('are left out of the request, which is sent once more: %s', async (text) => {
    const sent: Sent[] = [];
    const deltas = await read(ask(await serverOf(sent, text), 'claude-opus-5-5'));
    expect(deltas.at(-1)?.finishReason).toBe('stop');
    expect(sent.map(({ messages }) => messages[1]?.content.map(({ type }) => type))).toEqual([
      ['thinking', 'redacted_thinking', 'text', 'tool_use'],
      ['text', 'tool_use'],
    ]);
    expect(sent[1]).toEqual({ ...sent[0], messages: sent[1]?.messages });
  });

  test('are left out with the budget, which needs them', async () => {
    const sent: Sent[] = [];
    await read(ask(await serverOf(sent, texts[0]), 'claude-sonnet-4-5'));
    expect(sent.map(({ thinking }) => thinking)).toEqual([expect.objectContaining({ type: 'enabled' }), undefined]);
  });

  test('are an error when the second request is refused too, or there are none', async () => {
    const sent: Sent[] = [];
    const url = await serverOf(sent, texts[0], true);
    expect((await failureOf(ask(url, 'claude-opus-5-5'))).details['reason']).toBe('bad_request');
    expect(sent).toHaveLength(2);
    expect((await failureOf(ask(url, 'claude-opus-5-5', [human('a')]))).details['reason']).toBe('bad_request');
    expect(sent).toHaveLength(3);
  });
});

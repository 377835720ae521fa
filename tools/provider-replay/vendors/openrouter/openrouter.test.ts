import {
  afterToolCall,
  at,
  type Body,
  callAt,
  choicesOf,
  converse,
  deltasOf,
  joined,
  usageOf,
} from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { openrouter } from './openrouter.js';

const start = replaysOfTest();
const claude = { model: 'anthropic/claude-sonnet-5' };
const google = { model: 'google/gemini-3.1-pro-preview' };
const gpt = { model: 'openai/gpt-5.2' };

const detailsOf = (body: Body): Record<string, unknown>[] =>
  at(body, 1)['reasoning_details'] as Record<string, unknown>[];

describe('openrouter', () => {
  test.each([claude, google, gpt, { model: 'deepseek/deepseek-v4-pro' }])(
    'a conversation with $model is accepted',
    async (base) => {
      const talk = await afterToolCall(await start({ vendor: openrouter }), base);

      expect(await talk.advance()).toMatchObject({ content: 'done here' });
    },
  );

  test('Anthropic’s thinking comes in fragments of one index, its signature in the last', async () => {
    const answered = await converse(
      await start({ vendor: openrouter }),
      { ...claude, stream: true },
      '#think so it',
      '#say hi',
    ).send();
    const details = deltasOf(answered).flatMap((delta) => (delta['reasoning_details'] ?? []) as object[]);

    expect(details).toEqual([
      { type: 'reasoning.text', text: 'so', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.text', text: ' it', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.text', signature: expect.any(String), format: 'anthropic-claude-v1', index: 0 },
    ]);
    expect([joined(answered, 'reasoning'), joined(answered, 'content')]).toEqual(['so it', 'hi']);
  });

  test('Gemini’s signature is an encrypted detail with the id of the call', async () => {
    const answered = await converse(
      await start({ vendor: openrouter }),
      { ...google, stream: true },
      '#tool bash {}',
    ).send();
    const id = deltasOf(answered).flatMap((delta) => (delta['tool_calls'] ?? []) as { id?: string }[])[0]?.id;

    expect(deltasOf(answered)).toContainEqual(
      expect.objectContaining({ reasoning_details: [expect.objectContaining({ type: 'reasoning.encrypted', id })] }),
    );
  });

  test('comments are between the chunks, and usage is there unasked', async () => {
    const answered = await converse(
      await start({ vendor: openrouter }),
      { ...gpt, stream: true },
      '#usage 9 2',
      '#say hi',
    ).send();

    expect(answered.text.match(/: OPENROUTER PROCESSING\n\n/g)).toHaveLength(3);
    expect(usageOf(answered)).toMatchObject({ prompt_tokens: 9, completion_tokens: 2, cost: expect.any(Number) });
    expect(answered.headers.get('x-generation-id')).toMatch(/^gen-/);
  });

  test.each<[string, object, (body: Body) => void, RegExp]>([
    [
      'Gemini’s signature missing',
      google,
      (body) => void delete at(body, 1)['reasoning_details'],
      /Function call is missing a thought_signature/,
    ],
    [
      'Gemini’s signature forged',
      google,
      (body) => void (at(body, 1)['reasoning_details'] = [{ type: 'reasoning.encrypted', data: 'AAAA' }]),
      /Corrupted thought signature/,
    ],
    [
      'Gemini’s signature beside another call',
      google,
      (body) => void (callAt(body, 1).function['arguments'] = '{}'),
      /Corrupted thought signature/,
    ],
    [
      'Anthropic’s thinking shortened',
      claude,
      (body) => void Object.assign(detailsOf(body)[0] ?? {}, { text: 'let' }),
      /Invalid `signature` in `thinking` block/,
    ],
    [
      'Anthropic’s thinking in fragments',
      claude,
      (body) => {
        const [whole] = detailsOf(body);
        at(body, 1)['reasoning_details'] = [
          { ...whole, signature: undefined },
          { ...whole, text: undefined },
        ];
      },
      /Invalid `signature` in `thinking` block/,
    ],
    [
      'Anthropic’s signature missing',
      claude,
      (body) => void delete detailsOf(body)[0]?.['signature'],
      /Invalid `signature`/,
    ],
    [
      'OpenAI’s encrypted reasoning beside another summary',
      gpt,
      (body) => void Object.assign(detailsOf(body)[0] ?? {}, { summary: 'x' }),
      /could not be verified/,
    ],
  ])('%s is refused by the provider', async (_case, base, breakIt, raw) => {
    const talk = await afterToolCall(await start({ vendor: openrouter }), { ...base });
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: { error: { message: 'Provider returned error', code: 400, metadata: { raw: expect.stringMatching(raw) } } },
    });
  });

  test('an error of the provider is in the stream, with HTTP 200, before and after the answer has begun', async () => {
    const replay = await start({ vendor: openrouter });
    for (const lines of [['#fault overload'], ['#say begun', '#+fault overload']]) {
      const answered = await converse(replay, { ...gpt, stream: true }, ...lines).send();

      expect(answered.status).toBe(200);
      expect(answered.events.at(-1)).toMatchObject({
        error: { code: 502, message: 'Provider disconnected unexpectedly' },
      });
      expect(choicesOf(answered).at(-1)).toMatchObject({ finish_reason: 'error' });
    }
  });

  test('a shape that is wrong, and calls without results, are refused', async () => {
    const talk = await afterToolCall(await start({ vendor: openrouter }), gpt);
    const unanswered = talk.body();
    unanswered.messages.pop();

    expect((await talk.send({ ...talk.body(), temperature: 3 })).body).toMatchObject({
      error: { code: 400, message: expect.stringMatching(/^temperature/) },
    });
    expect((await talk.send(unanswered)).body).toMatchObject({ error: { metadata: { provider_name: 'OpenAI' } } });
  });

  test('reasoning can be excluded', async () => {
    const answered = await converse(
      await start({ vendor: openrouter }),
      { ...claude, stream: true, reasoning: { exclude: true } },
      '#think so',
      '#say hi',
    ).send();

    expect(answered.text).not.toContain('reasoning.text');
  });
});

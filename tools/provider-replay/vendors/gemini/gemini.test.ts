import {
  afterToolCall,
  at,
  type Body,
  callAt,
  callsOf,
  choicesOf,
  converse,
  deltasOf,
  finishOf,
  joined,
  usageOf,
} from '../../testing/chat-conversation.js';
import { replaysOfTest } from '../../testing/replay-client.js';
import { gemini } from './gemini.js';

const start = replaysOfTest();
const pro = { model: 'gemini-3.1-pro-preview' };
const streamed = { ...pro, stream: true, stream_options: { include_usage: true } };
const twoCalls = ['#tool bash {"command":"ls"}', '#+tool bash {"command":"pwd"}', '#say done here'];

const sign = (body: Body, index: number, thought_signature: string): void => {
  callAt(body, index)['extra_content'] = { google: { thought_signature } };
};

describe('gemini', () => {
  test('a conversation whose calls come back as they were is accepted, also with keys in another order', async () => {
    const talk = await afterToolCall(
      await start({ vendor: gemini }),
      pro,
      '#tool bash {"a":1,"b":{"c":2,"d":3}}',
      '#say done here',
    );
    const body = talk.body();
    callAt(body, 1).function['arguments'] = '{"b":{"d":3,"c":2},"a":1}';

    expect((await talk.send(body)).status).toBe(200);
    expect(await talk.advance()).toMatchObject({ content: 'done here' });
  });

  test('only the first of parallel calls is signed', async () => {
    const message = await converse(await start({ vendor: gemini }), pro, ...twoCalls).advance();

    expect(callsOf(message).map((call) => 'extra_content' in call)).toEqual([true, false]);
  });

  test('calls are streamed whole and without index, the reason is stop, and usage leaves thoughts out', async () => {
    const replay = await start({ vendor: gemini });
    const answered = await converse(replay, streamed, '#usage 10 7', '#think a b', ...twoCalls).send();
    const calls = deltasOf(answered).filter((delta) => 'tool_calls' in delta);

    expect(calls).toMatchObject([
      {
        tool_calls: [
          {
            function: { name: 'bash', arguments: '{"command":"ls"}' },
            extra_content: { google: { thought_signature: expect.any(String) } },
          },
        ],
      },
      { tool_calls: [{ function: { name: 'bash', arguments: '{"command":"pwd"}' } }] },
    ]);
    expect(JSON.stringify(calls)).not.toContain('"index"');
    expect(finishOf(answered)).toBe('stop');
    expect(usageOf(answered)).toEqual({ completion_tokens: 5, prompt_tokens: 10, total_tokens: 17 });
    expect(choicesOf(answered)[0]).not.toHaveProperty('finish_reason');
    expect(replay.extras()).toHaveLength(1);
  });

  test('flash models send the signature after the call', async () => {
    const answered = await converse(
      await start({ vendor: gemini }),
      { ...streamed, model: 'gemini-3.5-flash' },
      ...twoCalls,
    ).send();
    const calls = deltasOf(answered).flatMap((delta) => callsOf(delta));

    expect(calls.map((call) => 'extra_content' in call)).toEqual([false, true, false]);
    expect(calls[0]?.id).toBe(calls[1]?.id);
  });

  test('thoughts are shown in tags when they are asked for', async () => {
    const body = { ...streamed, extra_body: { google: { thinking_config: { include_thoughts: true } } } };
    const replay = await start({ vendor: gemini });

    expect(joined(await converse(replay, body, '#think a b', '#say c').send(), 'content')).toBe(
      '<thought>a b</thought>c',
    );
    expect(joined(await converse(replay, streamed, '#think a b', '#say c').send(), 'content')).toBe('c');
  });

  test.each<[string, (body: Body) => void, RegExp]>([
    [
      'no signature',
      (body) => void delete callAt(body, 1)['extra_content'],
      /Function call is missing a thought_signature in functionCall parts.*default_api:bash` , position 2/,
    ],
    ['a forged signature', (body) => sign(body, 1, 'AAAA'), /Corrupted thought signature/],
    [
      'a signature beside other arguments',
      (body) => void (callAt(body, 1).function['arguments'] = '{"command":"rm"}'),
      /Corrupted thought signature/,
    ],
    [
      'a signature beside another name',
      (body) => void (callAt(body, 1).function['name'] = 'ls'),
      /Corrupted thought signature/,
    ],
    [
      'an unknown field',
      (body) => void (body['prompt_cache_key'] = 'x'),
      /Unknown name "prompt_cache_key": Cannot find field/,
    ],
    [
      'an unknown field of a message',
      (body) => void (at(body, 1)['reasoning_content'] = 'x'),
      /Unknown name "reasoning_content" at 'messages\[1\]': Cannot find field/,
    ],
    ['google options outside extra_body', (body) => void (body['google'] = {}), /Unknown name "google"/],
    ['a missing result', (body) => void body.messages.pop(), /number of function response parts is equal/],
    [
      'a result without a call',
      (body) => void (at(body, 2)['tool_call_id'] = 'other'),
      /comes immediately after a function call turn/,
    ],
    ['arguments that are no JSON', (body) => void (callAt(body, 1).function['arguments'] = '{'), /not a JSON object/],
  ])('%s is refused', async (_case, breakIt, message) => {
    const talk = await afterToolCall(await start({ vendor: gemini }), pro);
    const body = talk.body();
    breakIt(body);

    expect(await talk.send(body)).toMatchObject({
      status: 400,
      body: [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringMatching(message) } }],
    });
  });

  test('a signature moved to the second call is refused', async () => {
    const talk = await afterToolCall(await start({ vendor: gemini }), pro, ...twoCalls);
    const body = talk.body();
    const [first, second] = callsOf(at(body, 1)) as unknown as Record<string, unknown>[];
    Object.assign(second ?? {}, { extra_content: first?.['extra_content'] });

    expect((await talk.send(body)).status).toBe(400);
  });

  test('each step of the turn needs its signature, earlier turns do not', async () => {
    const talk = await afterToolCall(
      await start({ vendor: gemini }),
      pro,
      '#tool bash {"n":1}',
      '#tool bash {"n":2}',
      '#say end',
    );
    await talk.advance();
    talk.results();
    const body = talk.body();
    delete callAt(body, 3)['extra_content'];
    expect((await talk.send(body)).status).toBe(400);

    await talk.advance();
    talk.say('#say next turn');
    const next = talk.body();
    delete callAt(next, 1)['extra_content'];
    expect((await talk.send(next)).status).toBe(200);
  });

  test('the escape for foreign calls is accepted, and models before 3 need no signature', async () => {
    const replay = await start({ vendor: gemini });
    const talk = await afterToolCall(replay, pro);
    const escaped = talk.body();
    sign(escaped, 1, 'skip_thought_signature_validator');
    const older = talk.body();
    older['model'] = 'gemini-2.5-pro';
    delete callAt(older, 1)['extra_content'];

    expect([(await talk.send(escaped)).status, (await talk.send(older)).status]).toEqual([200, 200]);
  });

  test('a call with broken arguments ends the answer without a call', async () => {
    const answered = await converse(
      await start({ vendor: gemini }),
      streamed,
      '#badargs bash {"command":"ec',
      '#+length',
    ).send();

    expect(answered.text).not.toContain('tool_calls');
    expect(finishOf(answered)).toBe('function_call_filter: MALFORMED_FUNCTION_CALL');
  });
});

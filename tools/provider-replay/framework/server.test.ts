import OpenAI from 'openai';
import { post, replaysOfTest, until } from '../testing/replay-client.js';
import { openai } from '../vendors/openai/openai.js';

const start = replaysOfTest();
const user = (...lines: string[]) => [{ role: 'user' as const, content: lines.join('\n') }];

function clientOf(baseURL: string, apiKey = 'k'): OpenAI {
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}

async function textOf(baseURL: string, lines: string[]): Promise<string> {
  const stream = await clientOf(baseURL).chat.completions.create({
    model: 'gpt-4.1',
    messages: user(...lines),
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('startProviderReplay', () => {
  test.each([1, 2, 3, 4, 5, 6])('cuts by seed %i change nothing that a client reads', async (cutSeed) => {
    const replay = await start({ vendor: openai, cutSeed });

    expect(await textOf(replay.baseUrl, ['#say Grüße aus 東京 🍣🍣 äöü', '#+say \\n ende'])).toBe(
      'Grüße aus 東京 🍣🍣 äöü\n ende',
    );
  });

  test('a hold is reached with all events before it on the wire, and released by name', async () => {
    const replay = await start({ vendor: openai, cutSeed: 7 });
    const read = textOf(replay.baseUrl, ['#say one two', '#+hold gate', '#+say \\nthree']);
    await until(() => replay.listHolds().length === 1);

    expect(replay.release('gate')).toBe(1);
    expect(await read).toBe('one two\nthree');
  });

  test('sums the tokens that were reported, and those only', async () => {
    const replay = await start({ vendor: openai });
    await textOf(replay.baseUrl, ['#usage 100 7', '#say ok']);
    await textOf(replay.baseUrl, ['#usage 10 5', '#think a b', '#say ok']);
    await textOf(replay.baseUrl, ['#usage 1 1', '#cut 2']);

    expect(replay.usage()).toEqual({
      'gpt-4.1': { answers: 2, input: 110, cachedInput: 0, cacheWritten: 0, output: 12, reasoning: 2 },
    });
  });

  test('a fault of a script is repeated as often as it says, and the call then succeeds', async () => {
    const replay = await start({ vendor: openai });
    const body = { model: 'm', messages: user('#fault rate-limit 3 times=1', '#say fine', Math.random().toString()) };
    const first = await post(`${replay.baseUrl}/chat/completions`, body);
    const second = await post(`${replay.baseUrl}/chat/completions`, body);

    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '3']);
    expect(second.body).toMatchObject({ choices: [{ message: { content: 'fine' } }] });
    expect(replay.refusals()).toEqual([]);
  });

  test('a fault that does not exist is refused with the list of those that do', async () => {
    const replay = await start({ vendor: openai });
    const refused = await post(`${replay.baseUrl}/chat/completions`, { model: 'm', messages: user('#fault coffee') });

    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'bad_directive', message: /rate-limit/ } } });
  });

  test('problems of the next requests are met whatever these say', async () => {
    const replay = await start({ vendor: openai });
    replay.failNext({ kind: 'quota' });
    await post(`${replay.url}/control/fail-next`, { kind: 'overload', times: 1 });
    const answers = [1, 2, 3].map(
      () => () => post(`${replay.baseUrl}/chat/completions`, { model: 'm', messages: user('#say x') }),
    );
    const statuses: number[] = [];
    for (const ask of answers) statuses.push((await ask()).status);

    expect(statuses).toEqual([429, 503, 200]);
    expect(replay.refusals().map(({ rule }) => rule)).toEqual(['quota', 'overload']);
  });

  test('key, models and context length are refused in the vendor’s shape, and recorded', async () => {
    const replay = await start({ vendor: openai, apiKey: 'right', models: ['there'], contextTokens: 5 });
    const ask = async (key: string, model: string, text: string) =>
      (
        await post(
          `${replay.baseUrl}/chat/completions`,
          { model, messages: user(text) },
          { authorization: `Bearer ${key}` },
        )
      ).body;

    expect(await ask('wrong', 'there', 'x')).toMatchObject({ error: { code: 'invalid_api_key' } });
    expect(await ask('right', 'gone', 'x')).toMatchObject({ error: { code: 'model_not_found' } });
    expect(await ask('right', 'there', 'x'.repeat(100))).toMatchObject({ error: { code: 'context_length_exceeded' } });
    expect(await ask('right', 'there', '#say ok')).toMatchObject({ object: 'chat.completion' });
    expect(replay.refusals().map(({ rule, status }) => [rule, status])).toEqual([
      ['wrong-key', 401],
      ['model-gone', 404],
      ['context-overflow', 400],
    ]);
  });

  test('a path that does not exist, and a body that is no JSON, are answered by the vendor', async () => {
    const replay = await start({ vendor: openai });

    expect(await post(`${replay.baseUrl}/complete`, {})).toMatchObject({
      status: 404,
      body: { error: { type: 'invalid_request_error' } },
    });
    expect(await post(`${replay.baseUrl}/chat/completions`, '{"a":')).toMatchObject({ status: 400 });
  });

  test('requests are recorded with path and headers, and forgotten by a reset', async () => {
    const replay = await start({ vendor: openai });
    await post(`${replay.baseUrl}/chat/completions?a=1`, { model: 'm', messages: user('#say x') }, { 'x-mine': 'y' });

    expect(replay.requests('#say x')).toMatchObject([
      { path: '/v1/chat/completions', headers: { 'x-mine': 'y' }, status: 200, finished: true },
    ]);
    replay.reset();
    expect([replay.requests(), replay.usage()]).toEqual([[], {}]);
  });
});

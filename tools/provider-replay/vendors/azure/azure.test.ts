import { afterToolCall, choicesOf, converse, finishOf } from '../../testing/chat-conversation.js';
import { post, replaysOfTest } from '../../testing/replay-client.js';
import { azure } from './azure.js';

const start = replaysOfTest();
const gpt = { model: 'my-deployment' };
const streamed = { ...gpt, stream: true };

describe('azure', () => {
  test('a conversation is accepted, on the path of a deployment too', async () => {
    const replay = await start({ vendor: azure });
    const talk = await afterToolCall(replay, gpt);
    await talk.advance();
    const url = `${replay.url}/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21`;

    expect((await post(url, talk.body())).status).toBe(200);
  });

  test('the first chunk has no choices, and one choice has no delta', async () => {
    const answered = await converse(await start({ vendor: azure }), streamed, '#say hi there').send();

    expect(answered.events[0]).toMatchObject({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] });
    expect(choicesOf(answered).filter((choice) => !('delta' in choice))).toMatchObject([
      { content_filter_offsets: { check_offset: 44 } },
    ]);
    const texts = choicesOf(answered).flatMap(({ delta }: { delta?: { content?: unknown } }) => delta?.content ?? []);
    expect(texts.filter((text) => text !== '')).toEqual(['hi', ' there']);
  });

  test.each([
    ['api-key', { 'api-key': 'right' }, 200],
    ['a token', { authorization: 'Bearer right' }, 200],
    ['the wrong key', { 'api-key': 'wrong' }, 401],
    ['no key', {}, 401],
  ])('with %s', async (_case, headers, status) => {
    const replay = await start({ vendor: azure, apiKey: 'right' });

    expect(
      (
        await post(
          `${replay.baseUrl}/chat/completions`,
          { ...gpt, messages: [{ role: 'user', content: '#say x' }] },
          headers,
        )
      ).status,
    ).toBe(status);
  });

  test.each([
    '/openai/deployments/d/chat/completions',
    '/openai/deployments/d/chat/completions?api-version=v9',
    '/openai/v1/chat/completions?api-version=2024-10-21',
  ])('%s has no valid version of the API', async (path) => {
    const replay = await start({ vendor: azure });

    expect(await post(replay.url + path, { ...gpt, messages: [{ role: 'user', content: '#say x' }] })).toMatchObject({
      status: 404,
      body: { error: { code: '404', message: 'Resource not found' } },
    });
  });

  test('the filter stops a prompt by a 400, and an answer by its reason', async () => {
    const replay = await start({ vendor: azure });
    const prompt = await converse(replay, streamed, '#fault content-filter').send();
    const answered = await converse(replay, streamed, '#say begun', '#+fault content-filter').send();

    expect(prompt).toMatchObject({
      status: 400,
      body: { error: { code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
    });
    expect(finishOf(answered)).toBe('content_filter');
    expect(choicesOf(answered).at(-1)).toMatchObject({ content_filter_results: { violence: { filtered: true } } });
  });

  test('the rules of OpenAI hold', async () => {
    const talk = await afterToolCall(await start({ vendor: azure }), gpt);

    expect((await talk.send({ ...talk.body(), thinking: {} })).body).toMatchObject({
      error: { message: 'Unrecognized request argument supplied: thinking' },
    });
  });
});

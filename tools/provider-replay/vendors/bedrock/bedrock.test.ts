import { afterToolCall, converse, joined } from '../../testing/chat-conversation.js';
import { post, replaysOfTest } from '../../testing/replay-client.js';
import { bedrock } from './bedrock.js';

const start = replaysOfTest();
const oss = { model: 'openai.gpt-oss-120b-1:0' };

describe('bedrock', () => {
  test('a conversation is accepted', async () => {
    const talk = await afterToolCall(await start({ vendor: bedrock }), oss);

    expect(await talk.advance()).toMatchObject({ content: 'done here' });
  });

  test('the reasoning of open models is in the content, each piece in tags of its own', async () => {
    const replay = await start({ vendor: bedrock });
    const body = { ...oss, stream: true };

    expect(joined(await converse(replay, body, '#think so it is', '#say hi').send(), 'content')).toBe(
      '<reasoning>so</reasoning><reasoning> it</reasoning><reasoning> is</reasoning>hi',
    );
    expect(joined(await converse(replay, body, '#think so', '#tool bash {}').send(), 'content')).toBe(
      '<reasoning>so</reasoning>',
    );
    expect(
      joined(await converse(replay, { ...body, model: 'openai.gpt-5.5' }, '#think so', '#say hi').send(), 'content'),
    ).toBe('hi');
  });

  test('a model on the path of others is refused', async () => {
    const replay = await start({ vendor: bedrock });
    const messages = [{ role: 'user', content: '#say x' }];

    expect((await post(`${replay.url}/v1/chat/completions`, { ...oss, messages })).status).toBe(200);
    expect((await post(`${replay.url}/v1/chat/completions`, { model: 'openai.gpt-5.5', messages })).body).toMatchObject(
      {
        error: { code: 'validation_error', message: "model `openai.gpt-5.5` isn't supported on this route" },
      },
    );
  });

  test('the key is a bearer token', async () => {
    const replay = await start({ vendor: bedrock, apiKey: 'right' });
    const messages = [{ role: 'user', content: '#say x' }];

    expect(
      await post(`${replay.baseUrl}/chat/completions`, { ...oss, messages }, { 'api-key': 'right' }),
    ).toMatchObject({ status: 401 });
    expect(
      (await post(`${replay.baseUrl}/chat/completions`, { ...oss, messages }, { authorization: 'Bearer right' }))
        .status,
    ).toBe(200);
  });

  test('the rules of OpenAI hold', async () => {
    const talk = await afterToolCall(await start({ vendor: bedrock }), oss);
    const body = talk.body();
    body.messages.pop();

    expect((await talk.send(body)).body).toMatchObject({
      error: { message: expect.stringMatching(/must be followed by tool messages/) },
    });
  });
});

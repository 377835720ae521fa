import { deepseek } from '../vendors/deepseek/deepseek.js';
import { converse } from '../testing/chat-conversation.js';
import { replaysOfTest } from '../testing/replay-client.js';
import { PrefixCache } from './prefix-cache.js';

const start = replaysOfTest();
const user = (content: string) => ({ role: 'user', content });

describe(PrefixCache, () => {
  test('counts the longest beginning that was sent before, in whole steps', () => {
    const cache = new PrefixCache({ least: 20, step: 10 });
    const long = user('x'.repeat(100));
    const count = (model: string, ...messages: object[]) =>
      cache.count({ model, messages: messages as { role: string }[] });

    expect(count('m', long)).toEqual({ total: 25, cached: 0, cacheWritten: 0 });
    expect(count('m', long, user('y'.repeat(40)))).toEqual({ total: 35, cached: 20, cacheWritten: 0 });
    expect(count('m', long, user('y'.repeat(40)))).toEqual({ total: 35, cached: 30, cacheWritten: 0 });
    expect(count('m', user('before'), long).cached).toBe(0);
    expect(count('other', long).cached).toBe(0);
    expect(count('m', user('before'), long).total).toBe(27);
  });

  test('fewer tokens than the least are not cached', () => {
    const cache = new PrefixCache({ least: 1024, step: 128 });
    const body = { model: 'm', messages: [user('x'.repeat(400))] };
    cache.count(body);

    expect(cache.count(body).cached).toBe(0);
  });

  test('what is cached is in the usage of the answer and in the sum of the server', async () => {
    const replay = await start({ vendor: deepseek });
    const talk = converse(replay, { model: 'deepseek-v4-pro' }, `#say hi`, 'x'.repeat(400));
    await talk.advance();
    talk.say('#say again');
    const { body } = await talk.send();

    expect(body).toMatchObject({
      usage: { prompt_cache_hit_tokens: 64, prompt_tokens_details: { cached_tokens: 64 } },
    });
    expect(replay.usage()['deepseek-v4-pro']).toMatchObject({ answers: 2, cachedInput: 64 });
  });
});

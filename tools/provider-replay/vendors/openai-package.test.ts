import OpenAI from 'openai';
import { CHAT_VENDORS, type ChatVendorName, THINKING_MODELS } from '../testing/models.js';
import { replaysOfTest } from '../testing/replay-client.js';
import type { ProviderReplay } from '../framework/replay.js';
import { vendorNamed } from '../vendors.js';

const start = replaysOfTest();
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'bash', parameters: { type: 'object', properties: {} } } },
];

const clientOf = (replay: ProviderReplay): OpenAI =>
  new OpenAI({ baseURL: replay.baseUrl, apiKey: 'k', maxRetries: 0, logLevel: 'off' });

const params = (vendor: ChatVendorName, ...lines: string[]) => ({
  model: THINKING_MODELS[vendor],
  messages: [{ role: 'user' as const, content: lines.join('\n') }],
  tools,
});

async function readStream(
  client: OpenAI,
  body: ReturnType<typeof params>,
): Promise<{ text: string; args: string; finish: string }> {
  const read = { text: '', args: '', finish: '' };
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
    for (const choice of chunk.choices ?? []) {
      const delta: Partial<OpenAI.ChatCompletionChunk.Choice.Delta> = choice.delta ?? {};
      if (typeof delta.content === 'string') read.text += delta.content;
      for (const call of delta.tool_calls ?? []) read.args += call.function?.arguments ?? '';
      read.finish = choice.finish_reason ?? read.finish;
    }
  }
  return read;
}

/** What vendors answer for a model that does not exist, where it is not 404. */
const GONE: Partial<Record<ChatVendorName, number>> = { deepseek: 400, minimax: 400, mistral: 400, openrouter: 400 };

/** The finish reason of a stream that an overload has ended, of vendors that do not report it by an error object. */
const OVERLOADED: Partial<Record<ChatVendorName, string>> = {
  deepseek: 'insufficient_system_resource',
  minimax: '',
  mistral: 'error',
};

describe('the openai package', () => {
  test.each(CHAT_VENDORS)('reads the stream of %s, however it is cut', async (vendor) => {
    for (const cutSeed of [1, 2, 3]) {
      const replay = await start({ vendor: vendorNamed(vendor), cutSeed });
      const body = params(vendor, '#think plan 計画', '#say Grüße 🍣 aus 東京', '#+tool bash {"command":"echo ü"}');
      const { text, args, finish } = await readStream(clientOf(replay), body);

      expect(text).toContain('Grüße 🍣 aus 東京');
      expect(args).toBe('{"command":"echo ü"}');
      expect(finish).toBe(vendor === 'gemini' ? 'stop' : 'tool_calls');
    }
  });

  test.each(CHAT_VENDORS)('carries a conversation with %s that appends each message as it came', async (vendor) => {
    const replay = await start({ vendor: vendorNamed(vendor) });
    const client = clientOf(replay);
    const body = params(vendor, '#think a b', '#tool bash {"n":1}', '#think c', '#tool bash {"n":2}', '#say the end');
    const messages: OpenAI.ChatCompletionMessageParam[] = body.messages;
    for (let step = 0; step < 2; step += 1) {
      const { choices } = await client.chat.completions.create({ ...body, messages });
      const message = choices[0]?.message;
      if (message === undefined) throw new Error('the answer has no message');
      messages.push(message);
      for (const { id } of message.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: id, content: 'ok' });
    }
    const last = await client.chat.completions.create({ ...body, messages });

    expect(last.choices[0]?.message.content).toContain('the end');
    expect(replay.refusals()).toEqual([]);
  });

  test.each(CHAT_VENDORS)('knows the refusals of %s by their status', async (vendor) => {
    const replay = await start({ vendor: vendorNamed(vendor), models: ['another'] });
    const ask = (...lines: string[]) => clientOf(replay).chat.completions.create(params(vendor, ...lines));
    replay.failNext({ kind: 'rate-limit', retryAfterS: 7 });
    const limited: unknown = await ask('#say x').catch((error: unknown) => error);

    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    expect((limited as InstanceType<typeof OpenAI.RateLimitError>).headers?.get('retry-after')).toBe('7');
    await expect(ask('#say x')).rejects.toMatchObject({ status: GONE[vendor] ?? 404 });
    replay.failNext({ kind: 'wrong-key' });
    await expect(ask('#say x')).rejects.toMatchObject({ status: vendor === 'gemini' ? 400 : 401 });
    replay.failNext({ kind: 'context-overflow', tokens: 9, limit: 8 });
    await expect(ask('#say x')).rejects.toMatchObject({ status: 400 });
  });

  test.each(CHAT_VENDORS)('meets an overload of %s in the stream as the vendor reports it', async (vendor) => {
    const replay = await start({ vendor: vendorNamed(vendor) });
    const reading = readStream(clientOf(replay), params(vendor, '#say begun', '#+fault overload'));

    const finish = OVERLOADED[vendor];
    if (finish !== undefined) expect(await reading).toMatchObject({ text: expect.stringContaining('begun'), finish });
    else await expect(reading).rejects.toBeInstanceOf(OpenAI.APIError);
  });

  test.each(CHAT_VENDORS)('fails at an event of %s that is not JSON', async (vendor) => {
    const replay = await start({ vendor: vendorNamed(vendor) });

    await expect(readStream(clientOf(replay), params(vendor, '#say begun', '#+fault malformed'))).rejects.toThrow(
      SyntaxError,
    );
  });
});

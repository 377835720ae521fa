import OpenAI from 'openai';
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { replaysOfTest } from '../../testing/replay-client.js';
import { responses } from './vendor.js';

const start = replaysOfTest();
type Params = Omit<ResponseCreateParamsNonStreaming, 'input' | 'stream'>;
const tools: Params['tools'] = [
  { type: 'function', name: 'bash', parameters: { type: 'object', properties: {} }, strict: false },
];
const stateless: Params = {
  model: 'gpt-5.6',
  tools,
  store: false,
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'low', summary: 'auto' },
};
const script = `#think Let me look — 🔍
#say Looking
#+think and again
#+tool bash {"command":"ls"}
#+tool bash {"command":"pwd"}
#+think third
#+tool bash {"command":"id"}
#think so
#+tool bash {"command":"cat ünïcode"}
#say All done: 日本語`;

async function client(options: { cutSeed?: number } = {}) {
  const replay = await start({ vendor: responses, apiKey: 'secret', ...options });
  return { replay, sdk: new OpenAI({ apiKey: 'secret', baseURL: replay.baseUrl, maxRetries: 0 }) };
}

/** What is sent back of a response: its items as they came, without what the client's own helpers add to them. */
const itemsOf = ({ output }: Pick<Response, 'output'>): ResponseInputItem[] =>
  JSON.parse(
    JSON.stringify(output, (key, value: unknown) => (key.startsWith('parsed') ? undefined : value)),
  ) as ResponseInputItem[];

/** The outputs of the calls of a response. */
const outputsOf = ({ output }: Response): ResponseInputItem[] =>
  output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output', call_id: item.call_id, output: `result of ${item.call_id}` }]
      : [],
  );

/** Answers calls until there are none; the input grows by every item of the answers as it was got. */
async function converse(sdk: OpenAI, params: Params, input: ResponseInputItem[]): Promise<Response> {
  for (;;) {
    const response = await sdk.responses.stream({ ...params, input, stream: true }).finalResponse();
    input.push(...itemsOf(response));
    const outputs = outputsOf(response);
    if (outputs.length === 0) return response;
    input.push(...outputs);
  }
}

const user = (content: string): ResponseInputItem => ({ role: 'user', content });

describe('a conversation of several turns with tools and reasoning, by the vendor’s own client', () => {
  test('stateless: all items come back, encrypted reasoning too', async () => {
    const { replay, sdk } = await client({ cutSeed: 5 });
    const input = [user(script)];
    const last = await converse(sdk, stateless, input);
    expect(last.output_text).toBe('All done: 日本語');
    expect(input.map((item) => item.type ?? 'user')).toEqual([
      'user',
      'reasoning',
      'message',
      'reasoning',
      'function_call',
      'function_call',
      'reasoning',
      'function_call',
      'function_call_output',
      'function_call_output',
      'function_call_output',
      'reasoning',
      'function_call',
      'function_call_output',
      'message',
    ]);
    expect(input[1]).toMatchObject({
      summary: [{ text: 'Let me look — 🔍' }],
      encrypted_content: expect.stringMatching(/^[\w+/=]{40,}$/),
    });
    input.push(user('two\n#think again\n#say Second'));
    const second = await converse(sdk, stateless, input);
    expect(second).toMatchObject({ status: 'completed', usage: { output_tokens_details: { reasoning_tokens: 1 } } });
    expect(second).not.toHaveProperty('input_transformations');
    expect(replay.refusals()).toEqual([]);
  });

  test('stored: a response continues the one before it, and items may be references', async () => {
    const { replay, sdk } = await client();
    const params: Params = { model: 'gpt-5.6', tools };
    const first = await sdk.responses.create({ ...params, input: script });
    const second = await sdk.responses.create({ ...params, previous_response_id: first.id, input: outputsOf(first) });
    expect(second.output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
    const references = [...first.output, ...second.output].map((item) => ({
      type: 'item_reference' as const,
      id: item.id ?? '',
    }));
    const [before, after] = [references.slice(0, first.output.length), references.slice(first.output.length)];
    const input = [user(script), ...before, ...outputsOf(first), ...after, ...outputsOf(second)];
    expect((await sdk.responses.create({ ...params, input })).output_text).toBe('All done: 日本語');
    expect(replay.refusals()).toEqual([]);
  });

  test('events are numbered without a gap, and name the item that they belong to', async () => {
    const { sdk } = await client({ cutSeed: 9 });
    const events: ResponseStreamEvent[] = [];
    for await (const event of await sdk.responses.create({ ...stateless, input: script, stream: true }))
      events.push(event);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, at) => at));
    const types = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
    expect(types.slice(0, 8)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
    ]);
    expect(types.slice(-4)).toEqual([
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });
});

describe('reasoning and what it led to come back together', () => {
  async function firstAnswer() {
    const { sdk } = await client();
    const first = await sdk.responses.create({ ...stateless, input: script });
    const items = itemsOf(first);
    const send = async (changed: ResponseInputItem[], more: Partial<Params> = {}, words = script) =>
      await sdk.responses.create({ ...stateless, ...more, input: [user(words), ...changed, ...outputsOf(first)] });
    return { items, send };
  }

  test.each<[string, (items: ResponseInputItem[]) => ResponseInputItem[], RegExp]>([
    [
      'reasoning without the message after it',
      (items) => items.filter(({ type }) => type !== 'message'),
      /Item 'rs_\w+' of type 'reasoning' was provided without its required following item/,
    ],
    [
      'reasoning at the end',
      ([first, ...rest]) => [...rest, first].filter((item) => item !== undefined),
      /without its required|without its required following item/,
    ],
    [
      'a call without its reasoning',
      (items) => items.filter((_item, at) => at !== 2),
      /Item 'fc_\w+' of type 'function_call' was provided without its required 'reasoning' item: 'rs_\w+'/,
    ],
    [
      'a message without its reasoning',
      (items) => items.slice(1),
      /Item 'msg_\w+' of type 'message' was provided without its required 'reasoning' item/,
    ],
    [
      'encrypted content of another item',
      (items) => {
        const [first, , third] = items;
        if (first?.type !== 'reasoning' || third?.type !== 'reasoning')
          throw new Error('two items of reasoning were expected');
        return items.map((item) =>
          item === first ? { ...first, encrypted_content: third.encrypted_content ?? null } : item,
        );
      },
      /Encrypted content item_id did not match the target item id/,
    ],
    [
      'encrypted content cut short',
      (items) => items.map((item) => (item.type === 'reasoning' ? { ...item, encrypted_content: 'gAAAA' } : item)),
      /could not be decrypted or parsed/,
    ],
    [
      'no encrypted content',
      (items) => items.map((item) => (item.type === 'reasoning' ? { ...item, encrypted_content: null } : item)),
      /404 Item with id 'rs_\w+' not found. Items are not persisted/,
    ],
  ])('%s is refused', async (_what, change, message) => {
    const { items, send } = await firstAnswer();
    await expect(send(change(items))).rejects.toThrow(message);
  });

  test('without their ids messages and calls stand alone', async () => {
    const { items, send } = await firstAnswer();
    const alone = items.flatMap((item): ResponseInputItem[] => {
      if (item.type !== 'function_call') return [];
      const { id: _id, ...rest } = item;
      return [rest];
    });
    expect((await send(alone)).output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
  });

  test('behind a changed prefix reasoning is removed without an error, and reported', async () => {
    const { items, send } = await firstAnswer();
    const unchanged = await send(items);
    expect(unchanged).not.toHaveProperty('input_transformations');
    const changed = await send(items, {}, `${script}\n`);
    const removed = items.flatMap((item) => (item.type === 'reasoning' ? [item.id] : []));
    expect(changed).toMatchObject({
      input_transformations: removed.map((id) => ({
        type: 'reasoning',
        id,
        action: 'removed',
        reason: 'prefix_mismatch',
      })),
    });
    expect(await send(items, { model: 'gpt-6' })).toMatchObject({
      input_transformations: removed.map((id) => ({ id, reason: 'model_mismatch' })),
    });
  });

  test('no encrypted content is returned unless it was asked for', async () => {
    const { sdk } = await client();
    const answer = await sdk.responses.create({ ...stateless, include: [], input: script });
    expect(answer.output[0]).not.toHaveProperty('encrypted_content');
  });
});

describe('ends and errors, as the vendor’s own client sees them', () => {
  const ask = async (sdk: OpenAI, input: string) =>
    await sdk.responses.stream({ model: 'gpt-5.6', store: false, input }).finalResponse();

  test.each<[string, object]>([
    ['#say hi', { status: 'completed', output: [{ content: [{ type: 'output_text', text: 'hi' }] }] }],
    [
      '#say hi\n#+length',
      { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [{ status: 'incomplete' }] },
    ],
    ['#say hi\n#+fault content-filter', { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }],
    [
      '#fault refusal',
      { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: expect.any(String) }] }] },
    ],
  ])('%s', async (lines, expected) => {
    const { sdk } = await client({ cutSeed: 2 });
    expect(await ask(sdk, lines)).toMatchObject(expected);
  });

  test.each<[string, number, string | null]>([
    ['#fault wrong-key', 401, 'invalid_api_key'],
    ['#fault model-gone', 404, 'model_not_found'],
    ['#fault context-overflow', 400, 'context_length_exceeded'],
    ['#fault rate-limit 1', 429, 'rate_limit_exceeded'],
    ['#fault quota', 429, 'insufficient_quota'],
    ['#fault overload', 503, null],
    ['#error 500 oops', 500, null],
  ])('%s before anything is streamed', async (lines, status, code) => {
    const { sdk } = await client();
    await expect(ask(sdk, lines)).rejects.toMatchObject({ status, code });
  });

  test.each<[string, object]>([
    [
      '#say some\n#+fault rate-limit',
      { type: 'response.failed', response: { status: 'failed', error: { code: 'rate_limit_exceeded' } } },
    ],
    [
      '#say some\n#+fault overload',
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error' } } },
    ],
    ['#say some\n#+error 500 oops', { type: 'error', code: 'server_error', message: 'oops', param: null }],
  ])('%s in the stream', async (lines, last) => {
    const { sdk } = await client({ cutSeed: 4 });
    const events: ResponseStreamEvent[] = [];
    for await (const event of await sdk.responses.create({ model: 'gpt-5.6', input: lines, stream: true }))
      events.push(event);
    expect(events.at(-1)).toMatchObject(last);
  });

  test('tokens of a prompt that was there before are cached, for the same key', async () => {
    const { replay, sdk } = await client();
    const long = 'x'.repeat(6000);
    const ask2 = async (input: string, key: string) =>
      (await sdk.responses.create({ model: 'gpt-5.6', instructions: long, prompt_cache_key: key, input })).usage;
    expect(await ask2('#say one', 'a')).toMatchObject({ input_tokens_details: { cached_tokens: 0 } });
    expect(await ask2('#say another', 'a')).toMatchObject({ input_tokens_details: { cached_tokens: 1408 } });
    expect(await ask2('#say another', 'b')).toMatchObject({ input_tokens_details: { cached_tokens: 0 } });
    expect(replay.usage()).toMatchObject({ 'gpt-5.6': { answers: 3, cachedInput: 1408 } });
  });
});

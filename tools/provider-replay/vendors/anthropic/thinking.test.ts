import Anthropic from '@anthropic-ai/sdk';
import { replaysOfTest } from '../../testing/replay-client.js';
import { anthropic } from './vendor.js';

const start = replaysOfTest();
const tools: Anthropic.Beta.BetaTool[] = [{ name: 'bash', input_schema: { type: 'object', properties: {} } }];
const asked =
  '#think first\n#say Looking\n#+think second\n#+tool bash {}\n#think [redacted] hidden\n#+tool bash {}\n#say Done';
type Message = Anthropic.Beta.BetaMessageParam;
type Params = Omit<Anthropic.Beta.MessageCreateParamsNonStreaming, 'messages'>;

/** A conversation with one call that is not answered yet: what the next request sends. */
async function afterFirstCall(model: string, more: Partial<Params> = {}) {
  const replay = await start({ vendor: anthropic });
  const sdk = new Anthropic({ apiKey: 'k', baseURL: replay.baseUrl, maxRetries: 0 });
  const params: Params = { model, max_tokens: 3000, system: 'S', tools, ...more };
  const send = async (messages: Message[], changed: Partial<Params> = {}) =>
    await sdk.beta.messages.create({ ...params, ...changed, messages });
  const messages: Message[] = [{ role: 'user', content: asked }];
  const answer = await send(messages);
  const blocks = answer.content as Anthropic.Beta.BetaContentBlockParam[];
  const call = answer.content.find((block) => block.type === 'tool_use')?.id ?? '';
  const results: Message = { role: 'user', content: [{ type: 'tool_result', tool_use_id: call, content: 'ok' }] };
  const sendBack = async (content: Anthropic.Beta.BetaContentBlockParam[], changed: Partial<Params> = {}) =>
    await send([...messages, { role: 'assistant', content }, results], changed);
  return { blocks, results, messages, send, sendBack };
}

const CANNOT_BE_MODIFIED =
  /`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified/;
const BOUND = /Invalid `signature` in `thinking` block. The block is bound to a different conversation/;
const summarized: Partial<Params> = { thinking: { type: 'adaptive', display: 'summarized' } };

describe('the answer with the calls comes back as it was', () => {
  test.each(['claude-opus-5-5', 'claude-opus-4-6'])('unchanged blocks are accepted by %s', async (model) => {
    const { blocks, sendBack } = await afterFirstCall(model, summarized);
    expect((await sendBack(blocks)).stop_reason).toBe('tool_use');
  });

  test('an empty block with a signature is one of them', async () => {
    const { blocks, sendBack } = await afterFirstCall('claude-opus-5-5');
    expect(blocks[0]).toMatchObject({ type: 'thinking', thinking: '' });
    expect((await sendBack(blocks)).stop_reason).toBe('tool_use');
    await expect(sendBack(blocks.slice(1))).rejects.toThrow(CANNOT_BE_MODIFIED);
  });

  const changes: [
    string,
    (blocks: Anthropic.Beta.BetaContentBlockParam[]) => Anthropic.Beta.BetaContentBlockParam[],
    RegExp,
  ][] = [
    [
      'a changed text',
      (blocks) => blocks.map((block) => (block.type === 'thinking' ? { ...block, thinking: 'x' } : block)),
      CANNOT_BE_MODIFIED,
    ],
    [
      'the text left out',
      (blocks) => blocks.map((block) => (block.type === 'thinking' ? { ...block, thinking: '' } : block)),
      CANNOT_BE_MODIFIED,
    ],
    [
      'a forged signature',
      (blocks) => blocks.map((block) => (block.type === 'thinking' ? { ...block, signature: 'AAAA' } : block)),
      /messages\.1\.content\.0: `thinking`|Invalid `signature`/,
    ],
    ['one block left out', (blocks) => blocks.filter((_block, at) => at !== 2), CANNOT_BE_MODIFIED],
    ['all blocks left out', (blocks) => blocks.filter(({ type }) => type !== 'thinking'), CANNOT_BE_MODIFIED],
    [
      'two blocks swapped',
      ([a, b, c, ...rest]) => [c, b, a, ...rest].filter((block) => block !== undefined),
      CANNOT_BE_MODIFIED,
    ],
    [
      'thinking moved behind the text',
      ([a, b, ...rest]) => [b, a, ...rest].filter((block) => block !== undefined),
      CANNOT_BE_MODIFIED,
    ],
  ];
  for (const model of ['claude-opus-5-5', 'claude-opus-4-6']) {
    test.each(changes)(`%s is refused by ${model}`, async (_what, change, message) => {
      const { blocks, sendBack } = await afterFirstCall(model, summarized);
      await expect(sendBack(change(blocks))).rejects.toThrow(message);
    });
  }

  test('the data of a redacted block is checked too', async () => {
    const { blocks, results, messages, send, sendBack } = await afterFirstCall('claude-opus-5-5');
    const second = await sendBack(blocks);
    const call = second.content.find((block) => block.type === 'tool_use')?.id ?? '';
    expect(second.content[0]?.type).toBe('redacted_thinking');
    const next = (content: Anthropic.Beta.BetaContentBlockParam[]): Message[] => [
      ...messages,
      { role: 'assistant', content: blocks },
      results,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call }] },
    ];
    const returned = second.content as Anthropic.Beta.BetaContentBlockParam[];
    expect((await send(next(returned))).stop_reason).toBe('end_turn');
    await expect(send(next(returned.slice(1)))).rejects.toThrow(CANNOT_BE_MODIFIED);
    const forged = returned.map((block) => (block.type === 'redacted_thinking' ? { ...block, data: 'AAAA' } : block));
    await expect(send(next(forged))).rejects.toThrow(CANNOT_BE_MODIFIED);
  });

  test('manual thinking needs a thinking block first, unless thinking is off', async () => {
    const manual: Partial<Params> = { thinking: { type: 'enabled', budget_tokens: 1024 } };
    const { blocks, sendBack } = await afterFirstCall('claude-haiku-4-5', manual);
    const without = blocks.filter(({ type }) => type !== 'thinking');
    await expect(sendBack(without)).rejects.toThrow(
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.',
    );
    expect((await sendBack(without, { thinking: { type: 'disabled' } })).stop_reason).toBe('tool_use');
  });
});

describe('preserved thinking: a block is valid behind its conversation only', () => {
  const changed: [string, Partial<Params>][] = [
    ['another system prompt', { system: 'T' }],
    ['another description of a tool', { tools: [{ ...tools[0], description: 'x' } as Anthropic.Beta.BetaTool] }],
    ['one more tool', { tools: [...tools, { name: 'ls', input_schema: { type: 'object' } }] }],
  ];
  test.each(changed)('%s is refused by newer models only', async (_what, change) => {
    const newer = await afterFirstCall('claude-opus-5-5');
    await expect(newer.sendBack(newer.blocks, change)).rejects.toThrow(BOUND);
    const older = await afterFirstCall('claude-opus-4-8', { thinking: { type: 'adaptive' } });
    expect((await older.sendBack(older.blocks, change)).stop_reason).toBe('tool_use');
  });

  test('an edited earlier message is refused, and marks, effort and the string form of a text are no edits', async () => {
    const { blocks, results, messages, send } = await afterFirstCall('claude-opus-5-5');
    const rest: Message[] = [{ role: 'assistant', content: blocks }, results];
    await expect(send([{ role: 'user', content: `${asked}\n` }, ...rest])).rejects.toThrow(BOUND);
    await expect(send([...messages, { role: 'user', content: 'more' }, ...rest])).rejects.toThrow(BOUND);
    const marked: Message = {
      role: 'user',
      content: [{ type: 'text', text: asked, cache_control: { type: 'ephemeral' } }],
    };
    expect((await send([marked, ...rest], { output_config: { effort: 'low' } })).stop_reason).toBe('tool_use');
  });

  test('the oldest blocks may be left out, one between others may not', async () => {
    const { blocks, results, messages, send, sendBack } = await afterFirstCall('claude-opus-5-5');
    const second = await sendBack(blocks);
    const call = second.content.find((block) => block.type === 'tool_use')?.id ?? '';
    const history = (first: Anthropic.Beta.BetaContentBlockParam[]): Message[] => [
      ...messages,
      { role: 'assistant', content: first },
      results,
      { role: 'assistant', content: second.content as Anthropic.Beta.BetaContentBlockParam[] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call }] },
    ];
    expect((await send(history(blocks.slice(1)))).stop_reason).toBe('end_turn');
    expect((await send(history(blocks.filter(({ type }) => type !== 'thinking')))).stop_reason).toBe('end_turn');
    await expect(send(history(blocks.filter((_block, at) => at !== 2)))).rejects.toThrow(
      /bound to a different conversation/,
    );
  });

  test('by drop_block the blocks are dropped and reported', async () => {
    const { blocks, sendBack } = await afterFirstCall('claude-opus-5-5');
    const answer = await sendBack(blocks, {
      system: 'T',
      betas: ['thinking-binding-controls-2026-08-01'],
      thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
    });
    expect(answer.input_transformations).toEqual([
      { type: 'thinking_dropped', path: 'messages.1.content.0', reason: 'prefix_binding_mismatch' },
      { type: 'thinking_dropped', path: 'messages.1.content.2', reason: 'prefix_binding_mismatch' },
    ]);
  });

  test('thinking of a model that this one cannot read is dropped without an error', async () => {
    const { blocks, sendBack } = await afterFirstCall('claude-fable-5-1');
    const answer = await sendBack(blocks, {
      model: 'claude-opus-4-8',
      betas: ['thinking-binding-controls-2026-08-01'],
      thinking: { type: 'adaptive' },
    });
    expect(answer.input_transformations?.map((entry) => entry.reason)).toEqual([
      'model_binding_mismatch',
      'model_binding_mismatch',
    ]);
  });
});

import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { type ModelConfig, Secret } from '@caribou/config';
import { type AiMessage, type Message, textOf } from '@caribou/contracts';
import { type ModelCall, type ModelDelta, type ModelPort, silentLogger } from '@caribou/core';
import { createModelCatalog } from '@caribou/models';
import { humanMessage } from '@caribou/testing';
import { aiSdkModel } from '../../../examples/custom-model/ai-sdk.mjs';
import { DeltaReader } from '../../../examples/custom-model/deltas.mjs';
import { toPrompt } from '../../../examples/custom-model/prompt.mjs';
import { type DemoModel, startDemoModel } from '../../../tools/demo-model/server.js';
import { loadModels } from './load-models.js';

const clocks = { modelConnectMs: 5_000, modelFirstByteMs: 5_000, modelChunkMs: 5_000 };
const bash: ModelCall['tools'][number] = {
  name: 'bash',
  description: 'runs',
  parameters: { type: 'object', properties: {} },
};

async function modelAt(baseUrl: string): Promise<ModelPort> {
  const options = { model: 'caribou-demo', base_url: baseUrl, api_key: 'k' };
  const module = { use: '/x.mjs#aiSdkModel', shown: 'x.mjs#aiSdkModel', options: new Secret(options) };
  const config: ModelConfig = {
    ...{ name: 'own', displayName: 'own', description: '', model: 'caribou-demo', baseUrl, module },
    ...{ protocol: 'module', dialect: 'generic', fallbacks: [], headers: {}, body: {} },
    ...{ supportsThinking: true, supportsVision: false, supportsReasoningEffort: false, sendReasoning: false },
  };
  const modules = await loadModels([config], { load: () => Promise.resolve({ aiSdkModel }) });
  return createModelCatalog([config], { clocks, logger: silentLogger, modules }).get('own');
}

async function ask(model: ModelPort, messages: readonly Message[]): Promise<readonly ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  const options = { userId: 'alice', signal: new AbortController().signal };
  for await (const delta of model.stream({ system: 'be kind', messages, tools: [bash] }, options)) deltas.push(delta);
  return deltas;
}
const answer = (over: Partial<AiMessage>): AiMessage => ({
  ...{ type: 'ai', id: 'a', content: '', additional_kwargs: {}, response_metadata: {} },
  ...{ tool_calls: [], invalid_tool_calls: [] },
  ...over,
});
const join = (deltas: readonly ModelDelta[], key: 'content' | 'reasoning') =>
  deltas.map((delta) => delta[key] ?? '').join('');

describe('the example of a custom model: a provider of the AI SDK', () => {
  let demo: DemoModel;
  beforeAll(async () => {
    demo = await startDemoModel();
  });
  afterAll(() => demo.close());

  test('streams reasoning, text and calls, and takes their results', async () => {
    const model = await modelAt(demo.baseUrl);
    const human = humanMessage('#think let me see\n#say Looking\n#+tool bash {"command":"ls"}\n#say All done');

    const first = await ask(model, [human]);
    const args = first.flatMap(({ toolCallChunks = [] }) => toolCallChunks.map((chunk) => chunk.args)).join('');
    const call = { name: 'bash', id: 'call_1', args: { command: 'ls' }, type: 'tool_call' as const };
    const second = await ask(model, [
      human,
      answer({ content: 'Looking', tool_calls: [call] }),
      {
        ...{ type: 'tool', id: 't', name: 'bash', tool_call_id: 'call_1', content: 'a.txt', status: 'success' },
        ...{ additional_kwargs: {}, response_metadata: {} },
      },
    ]);

    expect([join(first, 'reasoning'), join(first, 'content')]).toEqual(['let me see', 'Looking']);
    expect(JSON.parse(args)).toEqual({ command: 'ls' });
    expect(first.at(-1)).toMatchObject({ finishReason: 'tool_calls', usage: { output_tokens: expect.any(Number) } });
    expect(join(second, 'content')).toBe('All done');
    expect(JSON.stringify(demo.requests().at(-1)?.body)).toContain('a.txt');
  });

  test('a refusal is judged by its status', async () => {
    const asked = ask(await modelAt(demo.baseUrl), [humanMessage('#error 429 slow down')]);

    await expect(asked).rejects.toMatchObject({ details: { reason: 'rate_limited', providerStatus: 429 } });
  });

  test('what the provider gave with thoughts and calls goes back with the answer', () => {
    const reader = new DeltaReader();
    const parts: LanguageModelV3StreamPart[] = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-end', id: 'r', providerMetadata: { p: { signature: 's' } } },
      { type: 'tool-call', toolCallId: 'c', toolName: 'bash', input: '{}', providerMetadata: { p: { thought: 't' } } },
    ];

    expect(parts.map((part) => reader.read(part))).toEqual([
      undefined,
      { reasoning: 'hm' },
      { extras: { message: [{ text: 'hm', metadata: { p: { signature: 's' } } }] } },
      {
        toolCalls: [{ index: 0, id: 'c', name: 'bash', args: '{}' }],
        extras: { calls: { 0: { p: { thought: 't' } } } },
      },
    ]);
    const stored = answer({
      tool_calls: [{ name: 'bash', id: 'minted', args: {}, type: 'tool_call' }],
      provider_extras: {
        ...{ provider: 'module:own', model: 'm', dialect: 'generic' },
        message: [{ text: 'hm', metadata: { p: { signature: 's' } } }],
        calls: { minted: { p: { thought: 't' } } },
      },
    });
    expect(toPrompt({ system: '', messages: [stored] }, textOf)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { p: { signature: 's' } } },
          {
            ...{ type: 'tool-call', toolCallId: 'minted', toolName: 'bash', input: {} },
            providerOptions: { p: { thought: 't' } },
          },
        ],
      },
    ]);
  });

  test('images are files of the prompt, and invalid calls have no input', () => {
    const url = 'data:image/png;base64,AAAA';
    const messages: Message[] = [
      { ...humanMessage('look'), content: [{ type: 'image_url', image_url: { url } }] },
      answer({ invalid_tool_calls: [{ name: 'bash', id: 'x', args: '{"a', error: 'cut', type: 'invalid_tool_call' }] }),
    ];

    expect(toPrompt({ system: 's', messages }, textOf)).toEqual([
      { role: 'system', content: 's' },
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }] },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'bash', input: {} }] },
    ]);
  });
});

import { randomUUID } from 'node:crypto';
import { AnswerAssembly } from '@caribou/agent';
import { type ModelConfig, Secret } from '@caribou/config';
import { type AiMessage, type Message, ModelError, newToolCallId } from '@caribou/contracts';
import { type ModelPort, silentLogger } from '@caribou/core';
import { createModelCatalog } from '@caribou/models';
import { z } from 'zod';
import type { ProviderReplay } from '../framework/replay.js';
import type { TokenSum } from '../framework/token-sums.js';
import { replaysOfTest } from '../testing/replay-client.js';
import { vendorNamed } from '../vendors.js';

const start = replaysOfTest();
const KEY = 'key-1234567890abcdef';
const clocks = { modelConnectMs: 5_000, modelFirstByteMs: 5_000, modelChunkMs: 5_000 };
const bash = {
  name: 'bash',
  description: 'Runs a command',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
};

type Dialect = ModelConfig['dialect'];

/** Each server with a model of its vendor, and further fields of the model's configuration. */
const servers: [vendor: string, model: string, config: Partial<ModelConfig>][] = [
  ['openai', 'gpt-5.6', {}],
  ['azure', 'my-deployment', {}],
  ['bedrock', 'openai.gpt-oss-120b-1:0', {}],
  ['bedrock', 'openai.gpt-5.6-sol', {}],
  ['deepseek', 'deepseek-v4-pro', {}],
  ['deepseek', 'deepseek-v4-pro', { body: { thinking: { type: 'disabled' } } }],
  ['gemini', 'gemini-3-pro', { body: { extra_body: { google: { thinking_config: { include_thoughts: true } } } } }],
  ['gemini', 'gemini-3-flash', {}],
  ['gemini', 'gemini-2.5-flash', {}],
  ['kimi', 'kimi-k2.6', {}],
  ['minimax', 'MiniMax-M3', {}],
  ['minimax', 'MiniMax-M3', { body: { reasoning_split: false } }],
  ['mistral', 'mistral-medium-3-5', { body: { reasoning_effort: 'high' } }],
  ['mistral', 'mistral-large-latest', {}],
  ['ollama', 'qwen3:32b', {}],
  ['openrouter', 'anthropic/claude-sonnet-5', {}],
  ['openrouter', 'google/gemini-3-pro', {}],
  ['openrouter', 'openai/gpt-5.6', {}],
  ['vllm', 'Qwen/Qwen3-32B', {}],
];

interface Server {
  readonly vendor: string;
  readonly model: string;
  readonly config: Partial<ModelConfig>;
}

/** OpenAI's models show no reasoning in chat completions, OpenRouter's do, Gemini and Mistral on request, DeepSeek unless it is switched off. */
function showsReasoning({ vendor, model, config }: Server): boolean {
  if (['openai', 'azure'].includes(vendor) || model.startsWith('openai.gpt-5')) return false;
  if (vendor === 'deepseek') return config.body?.['thinking'] === undefined;
  return !['gemini', 'mistral'].includes(vendor) || config.body !== undefined;
}

function modelAt(replay: ProviderReplay, vendor: string, model: string, config: Partial<ModelConfig> = {}): ModelPort {
  const whole: ModelConfig = {
    name: 'm',
    displayName: 'm',
    description: '',
    model,
    apiKey: new Secret(KEY),
    baseUrl: replay.baseUrl,
    protocol: 'chat_completions',
    dialect: vendor as Dialect,
    supportsThinking: true,
    supportsVision: true,
    supportsReasoningEffort: true,
    fallbacks: [],
    headers: {},
    body: {},
    ...config,
  };
  return createModelCatalog([whole], { clocks, logger: silentLogger }).get('m');
}

const common = { additional_kwargs: {}, response_metadata: {} };
const human = (content: string, name?: string): Message => ({
  type: 'human',
  id: randomUUID(),
  content,
  ...common,
  ...(name === undefined ? {} : { name }),
});
const resultsOf = (answer: AiMessage): Message[] =>
  answer.tool_calls.map(({ id }) => ({
    type: 'tool',
    id: randomUUID(),
    name: 'bash',
    content: 'the result',
    tool_call_id: id,
    status: 'success',
    ...common,
  }));

/** One call of the model, assembled as the loop does. */
async function answerTo(model: ModelPort, messages: readonly Message[]): Promise<AiMessage> {
  const assembly = new AnswerAssembly({ messageId: randomUUID(), node: 'model', step: 1, model });
  const call = { system: 'be kind', messages, tools: [bash] };
  for await (const delta of model.stream(call, { userId: 'alice', signal: new AbortController().signal }))
    assembly.add(delta);
  return assembly.message();
}

/** The server counts the answer that is sent to Mistral before the reminder as a step. */
const scriptFor = (vendor: string): string =>
  (vendor === 'mistral' ? [...lines.slice(0, 6), '#say OK.', ...lines.slice(6)] : lines).join('\n');

const lines = [
  '#think let me look',
  '#tool bash {"command":"ls"}',
  '#think two at once',
  '#say Looking',
  '#+tool bash {"command":"pwd"}',
  '#+tool bash {"command":"id"}',
  '#think third',
  '#tool bash {"command":"date"}',
  '#think last one',
  '#tool bash {"command":"w"}',
  '#think so',
  '#say All done',
];

/** A turn of five steps with reminders between them, then a second turn. */
async function converse(model: ModelPort, before: readonly Message[] = []): Promise<Message[]> {
  const messages: Message[] = [...before, human(scriptFor(model.dialect))];
  for (let step = 1; step <= 5; step++) {
    const answer = await answerTo(model, messages);
    messages.push(answer, ...resultsOf(answer));
    if (step === 2) messages.push(human('<system_reminder>mind the time</system_reminder>', 'todo_reminder'));
  }
  messages.push(human('#say And again'));
  messages.push(await answerTo(model, messages));
  return messages;
}

const answersIn = (messages: readonly Message[]): AiMessage[] =>
  messages.filter((message): message is AiMessage => message.type === 'ai');

const reasoningIn = (messages: readonly Message[]): unknown[] =>
  answersIn(messages).flatMap(({ additional_kwargs: kwargs }) => {
    const reasoning = kwargs['reasoning_content'];
    return typeof reasoning === 'string' ? [reasoning.trim()] : [];
  });

/** What the answers report, in the form in which the server adds it up. */
function tokensOf(answers: readonly AiMessage[]): Record<string, number> {
  const sums = { answers: 0, input: 0, cachedInput: 0, cacheWritten: 0, output: 0 };
  for (const { usage_metadata: usage } of answers) {
    const input = CountsOf.parse(usage?.['input_token_details'] ?? {});
    sums.answers += 1;
    sums.input += usage?.input_tokens ?? 0;
    sums.cachedInput += input['cache_read'] ?? 0;
    sums.cacheWritten += input['cache_creation'] ?? 0;
    sums.output += usage?.output_tokens ?? 0;
  }
  return sums;
}

/** The server's own sums, without those of reasoning, which many vendors do not report. */
function withoutReasoning(replay: ProviderReplay): Omit<TokenSum, 'reasoning'> | undefined {
  const [sum] = Object.values(replay.usage());
  if (sum === undefined) return undefined;
  const { reasoning: _unreported, ...others } = sum;
  return others;
}

const CountsOf = z.record(z.string(), z.number());

/** The refusals of a server with what it refused. */
const refusalsOf = (replay: ProviderReplay): unknown[] =>
  replay
    .refusals()
    .map(({ id, rule, body }) => ({ rule, body, request: replay.requests().find((one) => one.id === id)?.body }));

describe.each(servers)('%s with %s and %j', (vendor, name, config) => {
  test('serves a conversation of six steps, and gets back all that it issued', async () => {
    const replay = await start({ vendor: vendorNamed(vendor), apiKey: KEY, cutSeed: 7 });
    const messages = await converse(modelAt(replay, vendor, name, config)).catch((error: unknown) => {
      throw new Error(JSON.stringify(refusalsOf(replay), null, 1), { cause: error });
    });
    expect(answersIn(messages).map(({ tool_calls }) => tool_calls.map(({ args }) => args['command']))).toEqual([
      ['ls'],
      ['pwd', 'id'],
      ['date'],
      ['w'],
      [],
      [],
    ]);
    expect(answersIn(messages).map(({ content }) => content)).toEqual(['', 'Looking', '', '', 'All done', 'And again']);
    expect([replay.refusals(), replay.ignored()]).toEqual([[], []]);
    expect(tokensOf(answersIn(messages))).toEqual(withoutReasoning(replay));
    const shown = showsReasoning({ vendor, model: name, config })
      ? ['let me look', 'two at once', 'third', 'last one', 'so']
      : [];
    expect(reasoningIn(messages)).toEqual(shown);
  });

  test('serves a conversation that began with another model, whose ids it would refuse', async () => {
    const replay = await start({ vendor: vendorNamed(vendor), apiKey: KEY });
    const call = (id: string) => ({ id, name: 'bash', args: { command: 'ls' }, type: 'tool_call' as const });
    const foreign: AiMessage = {
      type: 'ai',
      id: randomUUID(),
      content: '',
      ...common,
      additional_kwargs: { reasoning_content: 'thought elsewhere' },
      tool_calls: [call(newToolCallId()), call('functions.bash:0'), call('x'.repeat(60))],
      invalid_tool_calls: [],
      provider_extras: {
        provider: 'elsewhere.example/v1',
        model: 'other',
        dialect: 'gemini',
        message: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'opaque' }] },
      },
    };
    const thought: AiMessage = { ...foreign, id: randomUUID(), tool_calls: [] };
    const before = [human('hi', 'summary'), foreign, ...resultsOf(foreign), thought];
    await converse(modelAt(replay, vendor, name, config), before).catch((error: unknown) => {
      throw new Error(JSON.stringify(refusalsOf(replay), null, 1), { cause: error });
    });
    expect(replay.refusals()).toEqual([]);
    expect(JSON.stringify(replay.requests().map(({ body }) => body))).not.toContain('opaque');
  });
});

/** What each fault of a server is for the loop: a reason of a failure, or how the answer ends. */
const faults: [script: string, outcome: string, except?: Readonly<Record<string, string>>][] = [
  ['#fault rate-limit 2', 'rate_limited after 2000 ms'],
  ['#fault quota', 'quota', { bedrock: 'rate_limited', vllm: 'rate_limited' }],
  ['#fault overload', 'server', { kimi: 'rate_limited' }],
  ['#say hi\n#+fault overload', 'server'],
  ['#fault wrong-key', 'auth'],
  ['#fault model-gone', 'not_found'],
  ['#fault context-overflow', 'context_length'],
  ['#say hi\n#+fault malformed', 'malformed'],
  ['#say hi\n#+cut', 'stream_cut'],
  ['#error 500 boom', 'server'],
  ['#badargs bash {"comm\n#+length', 'ends with length, 1 broken call', { gemini: 'server' }],
  ['#say', 'ends with stop, 0 broken calls'],
];

describe.each(faults)('%j', (line, outcome, except = {}) => {
  test.each([...new Set(servers.map(([vendor]) => vendor))])(`at %s is ${outcome}`, async (vendor) => {
    const [, model = '', config] = servers.find(([name]) => name === vendor) ?? [];
    const replay = await start({ vendor: vendorNamed(vendor), apiKey: KEY });
    const seen = await answerTo(modelAt(replay, vendor, model, config), [human(line)]).then(endOf, failureOf);
    expect(seen).toBe(except[vendor] ?? outcome);
  });
});

const endOf = ({ response_metadata: metadata, invalid_tool_calls: broken }: AiMessage): string =>
  `ends with ${String(metadata['finish_reason'])}, ${broken.length} broken call${broken.length === 1 ? '' : 's'}`;

function failureOf(error: unknown): string {
  if (!(error instanceof ModelError)) throw error;
  const { reason, retryAfterMs } = error.details;
  return `${String(reason)}${typeof retryAfterMs === 'number' ? ` after ${retryAfterMs} ms` : ''}`;
}

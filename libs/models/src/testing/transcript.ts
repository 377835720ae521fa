import { type ModelConfig, Secret } from '@caribou/config';
import type { AiMessage, HumanMessage, Message, ProviderExtras, ToolMessage } from '@caribou/contracts';
import type { AnswerExtras, ModelDelta } from '@caribou/core';
import { buildRequest } from '../chat/build-request.js';
import { ChunkReader } from '../chat/chunk-reader.js';
import { dialects } from '../chat/dialects/dialects.js';
import { endpointOf } from '../http/endpoint.js';

export type DialectName = ModelConfig['dialect'];

export const configOf = (dialect: DialectName, changed: Partial<ModelConfig> = {}): ModelConfig => ({
  name: 'm',
  displayName: 'm',
  description: '',
  model: 'm-1',
  apiKey: new Secret('key-1234567890'),
  baseUrl: `https://${dialect}.example/v1`,
  protocol: 'chat_completions',
  dialect,
  supportsThinking: true,
  supportsVision: true,
  supportsReasoningEffort: true,
  fallbacks: [],
  headers: {},
  body: {},
  ...changed,
});

/** A chunk of a stream with one choice. */
export const chunk = (delta: unknown, finish: string | null = null, more: object = {}): unknown => ({
  id: 'x',
  object: 'chat.completion.chunk',
  model: 'm-1',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});

/** Reads a recorded answer; fails when one of its chunks is not read. */
export function readAnswer(dialect: DialectName, chunks: readonly unknown[]): ModelDelta[] {
  const reader = new ChunkReader(dialects[dialect]);
  const deltas = chunks.flatMap((event) => {
    const read = reader.read(event);
    if (read.kind === 'delta') return [read.delta];
    if (read.kind === 'nothing') return [];
    throw new Error(`a chunk is ${read.kind}`, { cause: read });
  });
  return [...deltas, reader.last()];
}

export const joined = (deltas: readonly ModelDelta[], field: 'content' | 'reasoning'): string =>
  deltas.map((delta) => delta[field] ?? '').join('');

const common = { additional_kwargs: {}, response_metadata: {} };
let ids = 0;
const newId = (): string => `call_${String(++ids).padStart(32, '0')}`;

/** The message that the loop stores for a recorded answer: calls have ids of their own, which the extras refer to. */
export function answerOf(config: ModelConfig, chunks: readonly unknown[]): AiMessage {
  const deltas = readAnswer(config.dialect, chunks);
  const calls: { id: string; name: string; args: string }[] = [];
  for (const { index, name, args } of deltas.flatMap(({ toolCallChunks = [] }) => toolCallChunks)) {
    const call = (calls[index] ??= { id: newId(), name: '', args: '' });
    call.name ||= name ?? '';
    call.args += args;
  }
  const reasoning = joined(deltas, 'reasoning');
  const extras = deltas.at(-1)?.extras;
  return {
    type: 'ai',
    id: newId(),
    content: joined(deltas, 'content'),
    ...common,
    additional_kwargs: reasoning === '' ? {} : { reasoning_content: reasoning },
    tool_calls: calls.map(({ id, name, args }) => ({
      id,
      name,
      args: JSON.parse(args) as Record<string, unknown>,
      type: 'tool_call',
    })),
    invalid_tool_calls: [],
    ...(extras === undefined ? {} : { provider_extras: storedExtras(config, extras, calls) }),
  };
}

function storedExtras(
  config: ModelConfig,
  { message, calls = {}, parts }: AnswerExtras,
  stored: readonly { readonly id: string }[],
): ProviderExtras {
  const byId = Object.entries(calls).map(([index, fields]) => [stored[Number(index)]?.id ?? '', fields] as const);
  return {
    ...endpointOf(config),
    dialect: config.dialect,
    ...(message === undefined ? {} : { message }),
    ...(byId.length === 0 ? {} : { calls: Object.fromEntries(byId) }),
    ...(parts === undefined ? {} : { parts: [...parts] }),
  };
}

export const human = (content: HumanMessage['content'], name?: string): HumanMessage => ({
  type: 'human',
  id: newId(),
  content,
  ...common,
  ...(name === undefined ? {} : { name }),
});

export const resultOf = (id: string | undefined, content = 'done'): ToolMessage => ({
  type: 'tool',
  id: newId(),
  name: 'bash',
  content,
  tool_call_id: id ?? '',
  status: 'success',
  ...common,
});

/** An answer that a client made up: one call, by the id that its own provider gave it. */
export const foreignAnswer = (id = 'functions.bash:0', content = ''): AiMessage => ({
  type: 'ai',
  id: newId(),
  content,
  ...common,
  tool_calls: [{ id, name: 'bash', args: { command: 'ls' }, type: 'tool_call' }],
  invalid_tool_calls: [],
});

/** The messages of the request that is sent for a conversation. */
export const sent = (config: ModelConfig, messages: readonly Message[]): readonly Record<string, unknown>[] =>
  buildRequest(config, { system: '', messages, tools: [] }).messages.map((message) => ({ ...message }));

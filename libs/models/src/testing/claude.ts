import type { ServerResponse } from 'node:http';
import { type AnthropicConfig, type ModelConfig, Secret, traitsOfModel } from '@caribou/config';
import type { AiMessage, HumanMessage, Message, ProviderExtras, ToolMessage } from '@caribou/contracts';
import type { ModelCall } from '@caribou/core';
import { buildRequest } from '../anthropic/build-request.js';
import type { MessagesRequest, OpaqueBlock } from '../anthropic/request-types.js';
import { originOf } from '../http/endpoint.js';

const common = { additional_kwargs: {}, response_metadata: {} };

export const claude = (
  model: string,
  options: Partial<AnthropicConfig> = {},
  fields: Partial<ModelConfig> = {},
): ModelConfig => ({
  name: 'claude',
  displayName: 'claude',
  description: '',
  model,
  baseUrl: 'https://api.anthropic.com/v1',
  apiKey: new Secret('sk-ant-live1234567890'),
  protocol: 'messages',
  dialect: 'generic',
  supportsThinking: true,
  supportsVision: true,
  supportsReasoningEffort: true,
  sendReasoning: false,
  fallbacks: [],
  anthropic: { ...traitsOfModel(model), promptCaching: true, cacheTtl: '5m', ...options },
  headers: {},
  body: {},
  ...fields,
});

/** The request of a model for a call with these messages. */
export function requestOf(
  model: ModelConfig,
  call: Partial<ModelCall> & { readonly messages: readonly Message[] },
): MessagesRequest<OpaqueBlock> {
  if (model.anthropic === undefined) throw new Error('a model of another protocol');
  const options = { model, anthropic: model.anthropic, origin: originOf(model) };
  return buildRequest(options, { system: 'be kind', tools: [], ...call });
}

export const human = (content: HumanMessage['content'], fields: Partial<HumanMessage> = {}): HumanMessage => ({
  type: 'human',
  id: 'h',
  content,
  ...common,
  ...fields,
});

export const answer = (content: string, fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a',
  content,
  tool_calls: [],
  invalid_tool_calls: [],
  ...common,
  ...fields,
});

export const toolCall = (id: string, name = 'bash', args: Record<string, unknown> = { command: 'ls' }) => ({
  id,
  name,
  args,
  type: 'tool_call' as const,
});

export const result = (
  id: string,
  content: ToolMessage['content'],
  fields: Partial<ToolMessage> = {},
): ToolMessage => ({
  type: 'tool',
  id: 't',
  name: 'bash',
  tool_call_id: id,
  status: 'success',
  content,
  ...common,
  ...fields,
});

/** Extras of an answer of the model. */
export const extrasOf = (model: ModelConfig, fields: Partial<ProviderExtras>): ProviderExtras => ({
  ...originOf(model),
  ...fields,
});

/** Events in the vendor's form: the type is the name of the event, too. */
export const sse = (...events: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const USAGE = { input_tokens: 12, cache_creation_input_tokens: 200, cache_read_input_tokens: 3000, output_tokens: 1 };

export const messageStart = (fields: Readonly<Record<string, unknown>> = {}) => ({
  type: 'message_start',
  message: {
    id: 'msg_01ABC',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: USAGE,
    ...fields,
  },
});

/** Events of one block: its start, its deltas and its stop. */
export const block = (
  index: number,
  content: Readonly<Record<string, unknown>>,
  ...deltas: readonly Readonly<Record<string, unknown>>[]
) => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

export const textBlock = (index: number, ...texts: readonly string[]) =>
  block(index, { type: 'text', text: '' }, ...texts.map((text) => ({ type: 'text_delta', text })));

export const callBlock = (index: number, id: string, name: string, ...json: readonly string[]) =>
  block(
    index,
    { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } },
    ...json.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  );

export const messageEnd = (
  stop_reason: string,
  delta: Readonly<Record<string, unknown>> = {},
  usage: unknown = { output_tokens: 42 },
) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null, ...delta }, usage },
  { type: 'message_stop' },
];

/** Sends the bytes in pieces of three, so that lines, events and characters are cut. */
export function sendInPieces(response: ServerResponse, text: string): void {
  const bytes = Buffer.from(text);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const send = (at: number): void => {
    if (at >= bytes.length) response.end();
    else response.write(bytes.subarray(at, at + 3), () => setImmediate(send, at + 3));
  };
  send(0);
}

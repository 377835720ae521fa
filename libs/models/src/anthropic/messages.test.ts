import { createServer } from 'node:http';
import type Anthropic from '@anthropic-ai/sdk';
import { Secret } from '@caribou/config';
import { createServer as createTcpServer } from 'node:net';
import { callBlock, claude, messageEnd, messageStart, sendInPieces, sse, textBlock } from '../testing/claude.js';
import {
  call,
  closeServersAfterEach,
  failureOf,
  KEY,
  listen,
  modelAt,
  never,
  read,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';
import { modelListRequest } from '../model-list.js';
import { anthropicUrl, headersOf } from './messages-client.js';
import type { MessagesRequest } from './request-types.js';

closeServersAfterEach();

const model = (baseUrl: string, clocks = {}) =>
  modelAt(baseUrl, clocks, { ...claude('claude-opus-5-5'), name: 'm', baseUrl, apiKey: new Secret(KEY) });
const whole = sse(
  messageStart(),
  { type: 'ping' },
  ...textBlock(0, 'Grüße ', '🦌'),
  ...callBlock(1, 'toolu_01D7FLrfh4GYq7yT1ULFeyMV', 'bash', '{"a":', '"ß"}'),
  ...messageEnd('tool_use'),
);

describe('an answer over HTTP', () => {
  test('is the same however the bytes are cut', async () => {
    const url = await serve((response) => sendInPieces(response, whole));
    const deltas = await read(model(url).stream(call, { userId: 'alice', signal: never }));
    expect(deltas.map(({ content = '' }) => content).join('')).toBe('Grüße 🦌');
    expect(deltas.flatMap(({ toolCallChunks = [] }) => toolCallChunks.map(({ args }) => args)).join('')).toBe(
      '{"a":"ß"}',
    );
    expect(deltas.at(-1)).toMatchObject({
      finishReason: 'tool_calls',
      usage: { input_tokens: 3212, output_tokens: 42 },
    });
  });

  test('ends with its last event, though the server keeps the connection open', async () => {
    const url = await serve((response) => void response.writeHead(200, STREAM_HEADERS).write(whole));
    const deltas = await read(model(url, { modelChunkMs: 60_000 }).stream(call, { userId: 'alice', signal: never }));
    expect(deltas.at(-1)?.finishReason).toBe('tool_calls');
  });

  test('without its end is a cut stream, though the text is there', async () => {
    const cut = whole.slice(0, whole.indexOf('event: message_delta'));
    const url = await serve((response) => void response.writeHead(200, STREAM_HEADERS).end(cut));
    const error = await failureOf(model(url).stream(call, { userId: 'alice', signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual(['stream_cut', true]);
  });

  test('an abort closes the connection', async () => {
    const abort = new AbortController();
    let close: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => (close = resolve));
    const url = await serve((response) => {
      response.on('close', close);
      response.writeHead(200, STREAM_HEADERS).write(sse(messageStart(), ...textBlock(0, 'a')));
    });
    const reading = async (): Promise<void> => {
      for await (const delta of model(url).stream(call, { userId: 'alice', signal: abort.signal }))
        if (delta.content !== undefined) abort.abort(new Error('stop'));
    };
    await expect(reading()).rejects.toThrow('stop');
    await closed;
  });

  test('the clocks are those of the transport', async () => {
    const url = await listen(createTcpServer(), 'https');
    const error = await failureOf(model(url, { modelConnectMs: 50 }).stream(call, { userId: 'alice', signal: never }));
    expect(error.details['reason']).toBe('connect_timeout');
  });
});

describe('a request over HTTP', () => {
  test('names key and version, and goes to the path of the version', async () => {
    let seen: unknown;
    const url = await listen(
      createServer((request, response) => {
        const { 'x-api-key': key, authorization, 'anthropic-version': version, 'content-type': type } = request.headers;
        seen = { path: request.url, method: request.method, key, authorization, version, type };
        response.writeHead(200, STREAM_HEADERS).end(whole);
      }),
    );
    await read(model(url).stream(call, { userId: 'alice', signal: never }));
    expect(seen).toEqual({
      path: '/v1/messages',
      method: 'POST',
      key: KEY,
      authorization: undefined,
      version: '2023-06-01',
      type: 'application/json',
    });
    const urlOf = (baseUrl: string, query = {}) => anthropicUrl({ baseUrl, query }, 'messages');
    const official = 'https://api.anthropic.com/v1/messages';
    expect([urlOf('https://api.anthropic.com'), urlOf('https://api.anthropic.com/v1/')]).toEqual([official, official]);
    expect(urlOf('https://x.example/anthropic', { v: '1' })).toBe('https://x.example/anthropic/v1/messages?v=1');
  });

  test('the list of models is at the same place, with key and version', () => {
    const { url, headers } = modelListRequest(claude('claude-opus-5', {}, { headers: { 'X-Team': new Secret('t') } }));
    expect(url).toBe('https://api.anthropic.com/v1/models?limit=1000');
    expect(Object.fromEntries(headers)).toEqual({
      'x-api-key': 'sk-ant-live1234567890',
      'anthropic-version': '2023-06-01',
      'x-team': 't',
    });
    const chat = { ...claude('m'), protocol: 'chat_completions' as const, baseUrl: 'http://127.0.0.1:9/v1/' };
    expect(modelListRequest(chat).url).toBe('http://127.0.0.1:9/v1/models');
    expect(modelListRequest(chat).headers.get('authorization')).toBe('Bearer sk-ant-live1234567890');
  });

  test('configured headers win, and beta features are joined', () => {
    const betas = (config: ReturnType<typeof claude>) => headersOf(config).get('anthropic-beta');
    expect(betas(claude('claude-opus-5'))).toBeNull();
    expect(betas(claude('claude-opus-5-5'))).toBe('thinking-binding-controls-2026-08-01');
    expect(betas(claude('claude-sonnet-4-5'))).toBe('interleaved-thinking-2025-05-14');
    const configured = claude(
      'claude-opus-5-5',
      {},
      {
        headers: { 'Anthropic-Beta': new Secret('a, b'), 'X-Api-Key': new Secret('other') },
        body: { betas: ['b', 'c'] },
      },
    );
    expect(betas(configured)).toBe('a,b,c,thinking-binding-controls-2026-08-01');
    expect(headersOf(configured).get('x-api-key')).toBe('other');
  });

  test("its body is one of the vendor's, by the types of its package", () => {
    const asVendors = (request: MessagesRequest): Anthropic.MessageCreateParamsStreaming => request;
    const asVendorsBeta = (request: MessagesRequest): Anthropic.Beta.MessageCreateParamsStreaming => request;
    const request: MessagesRequest = { model: 'm', max_tokens: 1, stream: true, messages: [] };
    expect(asVendors(request)).toBe(asVendorsBeta(request));
  });
});

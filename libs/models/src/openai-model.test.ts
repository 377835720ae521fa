import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { type ModelConfig, Secret } from '@caribou/config';
import { ModelError } from '@caribou/contracts';
import { type ModelCall, type ModelDelta, silentLogger } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { createModelCatalog } from './index.js';
import type { ModelClocks } from './openai-model.js';

const KEY = 'sk-live1234567890';
const clocks: ModelClocks = { modelConnectMs: 5_000, modelFirstByteMs: 5_000, modelChunkMs: 5_000 };
const call: ModelCall = { system: 'be kind', messages: [], tools: [] };
const never = new AbortController().signal;
const open: { readonly server: Server; readonly sockets: Set<Socket> }[] = [];

afterEach(async () => {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(server: Server, scheme = 'http'): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  open.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** A server that answers each request, its body read, as the test says. */
const serve = (answer: (response: ServerResponse, request: IncomingMessage, body: string) => void): Promise<string> =>
  listen(
    createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => (body += part));
      request.on('end', () => {
        answer(response, request, body);
      });
    }),
  );

const withKey = { apiKey: new Secret(KEY) };

function model(baseUrl: string, changed: Partial<ModelClocks> = {}, extra: Partial<ModelConfig> = withKey) {
  const config: ModelConfig = {
    name: 'm',
    displayName: 'm',
    description: '',
    model: 'm-1',
    baseUrl,
    supportsThinking: false,
    supportsVision: false,
    supportsReasoningEffort: false,
    sendReasoning: false,
    headers: {},
    body: {},
    ...extra,
  };
  return createModelCatalog([config], { clocks: { ...clocks, ...changed }, logger: silentLogger }).get('m');
}

const event = (chunk: unknown): string => `data: ${JSON.stringify(chunk)}\n\n`;
const delta = (fields: unknown, finish: string | null = null): string =>
  event({ model: 'm-1-real', choices: [{ index: 0, delta: fields, finish_reason: finish }] });
const START = { 'content-type': 'text/event-stream' };
const whole = (response: ServerResponse): void =>
  void response.writeHead(200, START).end(`${delta({ content: 'hi' }, 'stop')}data: [DONE]\n\n`);

async function read(stream: AsyncIterable<ModelDelta>): Promise<ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const part of stream) deltas.push(part);
  return deltas;
}

async function failureOf(stream: AsyncIterable<ModelDelta>): Promise<ModelError> {
  const error: unknown = await read(stream).catch((thrown: unknown) => thrown);
  if (error instanceof ModelError) return error;
  throw new Error('no ModelError', { cause: error });
}

describe('a model', () => {
  test.each(['https://api.example.org:8443/v1', 'https://user:secret@api.example.org:8443/v1//'])(
    'at %s is known by host, path and the name the provider has for it',
    (baseUrl) => {
      expect(model(baseUrl).endpoint).toEqual({ provider: 'api.example.org:8443/v1', model: 'm-1' });
    },
  );
});

describe('a streamed answer', () => {
  test('gives text, reasoning and parallel tool calls as they come, and usage and finish reason at the end', async () => {
    const url = await serve((response) => {
      response.writeHead(200, START);
      response.write(delta({ role: 'assistant', reasoning_content: 'hm' }) + delta({ content: 'One' }));
      response.write(delta({ tool_calls: [{ index: 0, id: 'call_0', function: { name: 'a', arguments: '{"x"' } }] }));
      response.write(delta({ tool_calls: [{ index: 1, id: 'call_0', function: { name: 'b', arguments: '{}' } }] }));
      response.write(delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }, 'tool_calls'));
      response.write(
        event({
          choices: [],
          usage: {
            prompt_tokens: 7,
            completion_tokens: 3,
            total_tokens: 10,
            prompt_tokens_details: { cached_tokens: 4 },
            completion_tokens_details: { reasoning_tokens: 2 },
          },
        }),
      );
      response.end('data: [DONE]\n\n');
    });
    const chunk = (index: number, args: string, name: string | null) => ({
      index,
      args,
      name,
      id: name === null ? null : 'call_0',
      type: 'tool_call_chunk',
    });
    expect(await read(model(url).stream(call, { signal: never }))).toEqual([
      { reasoning: 'hm' },
      { content: 'One' },
      { toolCallChunks: [chunk(0, '{"x"', 'a')] },
      { toolCallChunks: [chunk(1, '{}', 'b')] },
      { toolCallChunks: [chunk(0, ':1}', null)] },
      {
        finishReason: 'tool_calls',
        usage: {
          input_tokens: 7,
          output_tokens: 3,
          total_tokens: 10,
          input_token_details: { cache_read: 4 },
          output_token_details: { reasoning: 2 },
        },
        responseMetadata: { model_name: 'm-1-real' },
      },
    ]);
  });

  test('is the same however the bytes are cut, with CRLF, comments and a missing last line', async () => {
    const text = (delta({ content: 'Grüße 🦌' }) + delta({}, 'stop')).replaceAll('\n', '\r\n');
    const bytes = Buffer.from(`: hello\r\n${text.trimEnd()}`);
    const url = await serve((response) => {
      response.writeHead(200, START);
      const send = (at: number): void => {
        if (at >= bytes.length) response.end();
        else response.write(bytes.subarray(at, at + 3), () => setImmediate(send, at + 3));
      };
      send(0);
    });
    const deltas = await read(model(url).stream(call, { signal: never }));
    expect(deltas).toEqual([
      { content: 'Grüße 🦌' },
      { finishReason: 'stop', responseMetadata: { model_name: 'm-1-real' } },
    ]);
  });

  test('asks for a stream with usage, with the key, or without an Authorization header when there is no key', async () => {
    const seen: unknown[] = [];
    const url = await serve((response, request, body) => {
      const { authorization, 'x-extra': extra } = request.headers;
      seen.push({ authorization, extra, path: request.url, body: JSON.parse(body) as unknown });
      whole(response);
    });
    await read(model(url).stream(call, { signal: never }));
    await read(model(url, {}, { headers: { 'x-extra': new Secret('1') } }).stream(call, { signal: never }));
    const body = {
      model: 'm-1',
      messages: [{ role: 'system', content: 'be kind' }],
      stream: true,
      stream_options: { include_usage: true },
    };
    expect(seen).toEqual([
      { authorization: `Bearer ${KEY}`, extra: undefined, path: '/v1/chat/completions', body },
      { authorization: undefined, extra: '1', path: '/v1/chat/completions', body },
    ]);
  });
});

describe('a failed answer', () => {
  const statuses: [number, unknown, string, boolean][] = [
    [400, { error: { message: `bad ${KEY}`, type: 'invalid_request_error' } }, 'bad_request', false],
    [
      400,
      { error: { message: 'maximum context length is 8', code: 'context_length_exceeded' } },
      'context_length',
      false,
    ],
    [401, { error: { message: `Incorrect API key provided: ${KEY}`, code: 'invalid_api_key' } }, 'auth', false],
    [402, {}, 'quota', false],
    [403, { error: KEY }, 'auth', false],
    [404, { error: { code: KEY } }, 'not_found', false],
    [408, {}, 'server', true],
    [409, {}, 'server', true],
    [422, {}, 'bad_request', false],
    [425, {}, 'server', true],
    [429, { error: { code: 'insufficient_quota' } }, 'quota', false],
    [429, { error: { message: '账户余额不足' } }, 'quota', false],
    [429, { code: 'limit_burst_rate' }, 'burst', true],
    [429, {}, 'rate_limited', true],
    [500, { error: { message: 'billing service down' } }, 'server', true],
    [503, {}, 'server', true],
    [307, {}, 'bad_request', false],
  ];

  test.each(statuses)(
    'HTTP %i with %j is reported as %s, without the text of the provider',
    async (status, body, reason, retryable) => {
      const url = await serve(
        (response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      );
      const error = await failureOf(model(url).stream(call, { signal: never }));
      expect(error.details).toMatchObject({ reason, providerStatus: status, model: 'm' });
      expect(error.retryable).toBe(retryable);
      const [, wrote = ''] = /"message":"([^"]*)"/.exec(JSON.stringify(body)) ?? [];
      expect(error.details['providerText']).toContain(wrote.replace(KEY, '[redacted]'));
      expect(`${error.stack ?? ''}${JSON.stringify(error)}${String(error.cause)}`).not.toContain(KEY);
    },
  );

  test('takes the delay from Retry-After-Ms, and from Retry-After in seconds or as a date', async () => {
    const headers = [
      { 'retry-after-ms': '1500', 'retry-after': '9' },
      { 'retry-after': '2' },
      { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' },
    ];
    const url = await serve((response) => void response.writeHead(429, headers.shift()).end());
    const port = model(url);
    const waits = [];
    for (let attempt = 0; attempt < 3; attempt += 1)
      waits.push((await failureOf(port.stream(call, { signal: never }))).details['retryAfterMs']);
    expect(waits).toEqual([1500, 2000, 0]);
  });

  test('a body that ends, or a connection that breaks, before the finish reason is a cut stream', async () => {
    const cuts: ((response: ServerResponse) => void)[] = [
      (response) => void response.end('data: [DONE]\n\n'),
      (response) => void response.end(),
      (response) => void response.destroy(),
    ];
    for (const cut of cuts) {
      const url = await serve((response) => {
        response.writeHead(200, START).write(delta({ content: 'half' }), () => {
          cut(response);
        });
      });
      const error = await failureOf(model(url).stream(call, { signal: never }));
      expect([error.details['reason'], error.retryable]).toEqual(['stream_cut', true]);
    }
  });

  test('an error object inside the stream is reported like a refusal', async () => {
    const bodies: [string, string][] = [
      [event({ error: { message: `x ${KEY}`, code: 429 } }), 'rate_limited'],
      [event({ error: { message: 'Overloaded', type: 'overloaded_error' } }), 'server'],
      [`event: error\n${event({ message: 'no', type: 'invalid' })}`, 'bad_request'],
    ];
    for (const [body, reason] of bodies) {
      const url = await serve((response) => void response.writeHead(200, START).end(delta({ content: 'a' }) + body));
      const error = await failureOf(model(url).stream(call, { signal: never }));
      expect(error.details['reason']).toBe(reason);
      expect(`${error.message}${JSON.stringify(error.details)}`).not.toContain(KEY);
      expect(error.details['providerText']).toMatch(/^(x \[redacted\]|Overloaded|no)$/);
    }
  });

  test('invalid chunks, other content types and answers that are too large are refused', async () => {
    const answers: [(response: ServerResponse) => void, string][] = [
      [(response) => void response.writeHead(200, START).end('data: {"choices":\n\n'), 'malformed'],
      [(response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), 'malformed'],
      [(response) => void response.writeHead(200, START).end(`: ${'x'.repeat(17 * 1024 * 1024)}\n\n`), 'too_large'],
    ];
    for (const [answer, reason] of answers) {
      const error = await failureOf(model(await serve(answer)).stream(call, { signal: never }));
      expect(error.details['reason']).toBe(reason);
    }
  });

  test('a long answer in many small frames comes whole', async () => {
    const frames = 70_000;
    const frame = delta({ content: 'word', padding: 'x'.repeat(160) });
    const url = await serve(
      (response) => void response.writeHead(200, START).end(frame.repeat(frames) + delta({}, 'stop')),
    );
    const deltas = await read(model(url).stream(call, { signal: never }));
    expect(frame.length * frames).toBeGreaterThan(16 * 1024 * 1024);
    expect(deltas.map(({ content = '' }) => content).join('')).toHaveLength(4 * frames);
  });

  test('an answer above the limit of characters ends there with the finish reason length', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    const pieces = [{ content: piece }, { reasoning_content: piece }, { content: piece }, { content: piece }];
    const url = await serve((response) => {
      response
        .writeHead(200, START)
        .end([...pieces, { content: 'more' }].map((one) => delta(one)).join('') + delta({}, 'stop'));
    });
    const deltas = await read(model(url).stream(call, { signal: never }));
    expect(deltas).toHaveLength(5);
    expect(deltas.at(-1)).toEqual({
      finishReason: 'length',
      responseMetadata: { answer_limit_chars: 4 * 1024 * 1024 },
    });
  });

  test('no server at the address is a broken connection', async () => {
    const url = await serve(whole);
    await new Promise((resolve) => open.pop()?.server.close(resolve));
    const error = await failureOf(model(url).stream(call, { signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual(['connection', true]);
  });

  test('a model with a configuration problem refuses with its text', async () => {
    const error = await failureOf(
      model('http://127.0.0.1:9/v1', {}, { problem: 'set OPENAI_API_KEY' }).stream(call, { signal: never }),
    );
    expect(error.message).toContain('set OPENAI_API_KEY');
    expect([error.details['reason'], error.retryable]).toEqual(['not_configured', false]);
  });
});

describe('the three timeouts', () => {
  test('connect: a server that never completes the TLS handshake', async () => {
    const url = await listen(createTcpServer(), 'https');
    const error = await failureOf(model(url, { modelConnectMs: 50 }).stream(call, { signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual(['connect_timeout', true]);
  });

  test('first byte: before the headers, and after them while only comments come; a short connect clock does not matter', async () => {
    for (const begin of [
      () => undefined,
      (response: ServerResponse) => void response.writeHead(200, START).write(': wait\n\n'),
    ]) {
      const url = await serve(begin);
      const error = await failureOf(
        model(url, { modelConnectMs: 400, modelFirstByteMs: 500 }).stream(call, { signal: never }),
      );
      expect([error.details['reason'], error.retryable]).toEqual(['first_byte_timeout', true]);
    }
  });

  test('between chunks: the connection is closed', async () => {
    let closed = false;
    const url = await serve((response) => {
      response.on('close', () => (closed = true));
      response.writeHead(200, START).write(delta({ content: 'a' }));
    });
    const error = await failureOf(model(url, { modelChunkMs: 50 }).stream(call, { signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual(['chunk_timeout', true]);
    await waitFor(() => closed, { what: 'the connection to close' });
  });
});

describe('the end of a call', () => {
  test('an abort in mid-stream rejects with the reason and the server sees the connection close', async () => {
    let closed = false;
    const url = await serve((response) => {
      response.on('close', () => (closed = true));
      response.writeHead(200, START).write(delta({ content: 'a' }) + delta({ content: 'b' }));
    });
    const abort = new AbortController();
    const reason = new Error('stop');
    const stream = model(url).stream(call, { signal: abort.signal })[Symbol.asyncIterator]();
    expect(await stream.next()).toEqual({ value: { content: 'a' }, done: false });
    abort.abort(reason);
    await expect(stream.next()).rejects.toBe(reason);
    expect(await stream.next()).toEqual({ value: undefined, done: true });
    await waitFor(() => closed, { what: 'the connection to close' });
  });

  test('an abort before the headers, or before the call, rejects with the reason', async () => {
    let requests = 0;
    const url = await serve(() => (requests += 1));
    const abort = new AbortController();
    const waiting = read(model(url).stream(call, { signal: abort.signal }));
    await waitFor(() => requests === 1, { what: 'the request' });
    abort.abort('stop');
    await expect(waiting).rejects.toBe('stop');
    await expect(read(model(url).stream(call, { signal: abort.signal }))).rejects.toBe('stop');
    expect(requests).toBe(1);
  });

  test('a reader that leaves closes the connection', async () => {
    let closed = false;
    const url = await serve((response) => {
      response.on('close', () => (closed = true));
      response.writeHead(200, START).write(delta({ content: 'a' }));
    });
    for await (const part of model(url).stream(call, { signal: never })) {
      expect(part).toEqual({ content: 'a' });
      break;
    }
    await waitFor(() => closed, { what: 'the connection to close' });
  });

  test('the connection of a finished answer is reused, and one that the server closed is replaced', async () => {
    const ports: (number | undefined)[] = [];
    let refuse = false;
    const url = await serve((response, request) => {
      ports.push(request.socket.remotePort);
      if (refuse) request.socket.resetAndDestroy();
      else whole(response);
      refuse = false;
    });
    const port = model(url);
    const answer = async () => (await read(port.stream(call, { signal: never })))[0];
    await answer();
    await answer();
    refuse = true;
    expect(await answer()).toEqual({ content: 'hi' });
    expect(ports).toHaveLength(4);
    expect(ports[1]).toBe(ports[0]);
    expect(ports[2]).toBe(ports[0]);
    expect(ports[3]).not.toBe(ports[0]);
  });

  test('an abort after the end has no effect, and no listener remains on a signal that many calls share', async () => {
    const url = await serve(whole);
    const abort = new AbortController();
    const added = jest.spyOn(abort.signal, 'addEventListener');
    const removed = jest.spyOn(abort.signal, 'removeEventListener');
    const port = model(url);
    for (let turn = 0; turn < 20; turn += 1) await read(port.stream(call, { signal: abort.signal }));
    expect(added).toHaveBeenCalledTimes(20);
    expect(removed).toHaveBeenCalledTimes(20);
  });
});

import { Secret } from '@caribou/config';
import {
  call,
  closeServersAfterEach,
  delta,
  event,
  KEY,
  modelAt,
  never,
  read,
  sendAnswer,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';

closeServersAfterEach();

describe('a model', () => {
  test.each(['https://api.example.org:8443/v1', 'https://user:secret@api.example.org:8443/v1//'])(
    'at %s is known by host, path and the name the provider has for it',
    (baseUrl) => {
      expect(modelAt(baseUrl).endpoint).toEqual({ provider: 'api.example.org:8443/v1', model: 'm-1' });
    },
  );
});

describe('a streamed answer', () => {
  test('gives text, reasoning and parallel tool calls as they come, and usage and finish reason at the end', async () => {
    const url = await serve((response) => {
      response.writeHead(200, STREAM_HEADERS);
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
    expect(await read(modelAt(url).stream(call, { userId: 'alice', signal: never }))).toEqual([
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
      response.writeHead(200, STREAM_HEADERS);
      const send = (at: number): void => {
        if (at >= bytes.length) response.end();
        else response.write(bytes.subarray(at, at + 3), () => setImmediate(send, at + 3));
      };
      send(0);
    });
    const deltas = await read(modelAt(url).stream(call, { userId: 'alice', signal: never }));
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
      sendAnswer(response);
    });
    await read(modelAt(url).stream(call, { userId: 'alice', signal: never }));
    await read(
      modelAt(url, {}, { headers: { 'x-extra': new Secret('1') } }).stream(call, { userId: 'alice', signal: never }),
    );
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

describe('a request to Azure', () => {
  test.each([
    ['a key', KEY, { 'api-key': KEY, authorization: undefined }],
    ['a token of Entra ID', 'eyJhbGciOi.x.y', { 'api-key': undefined, authorization: 'Bearer eyJhbGciOi.x.y' }],
  ])('has %s in the header for it, and the configured query', async (_, key, headers) => {
    const seen: unknown[] = [];
    const url = await serve((response, request) => {
      const { authorization, 'api-key': apiKey } = request.headers;
      seen.push({ path: request.url, headers: { 'api-key': apiKey, authorization } });
      sendAnswer(response);
    });
    const azure = { dialect: 'azure' as const, apiKey: new Secret(key), query: { 'api-version': 'preview' } };
    await read(modelAt(url, {}, azure).stream(call, { userId: 'alice', signal: never }));
    expect(seen).toEqual([{ path: '/v1/chat/completions?api-version=preview', headers }]);
  });
});

test('a configured Authorization header replaces that of the key', async () => {
  const seen: unknown[] = [];
  const url = await serve((response, request) => {
    seen.push(request.headers.authorization);
    sendAnswer(response);
  });
  const headers = { Authorization: new Secret('Basic x') };
  await read(modelAt(url, {}, { apiKey: new Secret(KEY), headers }).stream(call, { userId: 'alice', signal: never }));
  expect(seen).toEqual(['Basic x']);
});

test('configured headers take the place of those of the connection, and none is sent twice', async () => {
  const seen: string[][] = [];
  const url = await serve((response, request) => {
    seen.push(request.rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase()));
    seen.push([String(request.headers.host)]);
    sendAnswer(response);
  });
  const headers = { Host: new Secret('models.internal'), 'Content-Length': new Secret('1') };

  await read(modelAt(url, {}, { headers }).stream(call, { userId: 'alice', signal: never }));

  expect(seen[0]).toEqual([...new Set(seen[0])]);
  expect(seen[1]).toEqual(['models.internal']);
});

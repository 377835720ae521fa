import type { ServerResponse } from 'node:http';
import {
  call,
  closeLastServer,
  closeServersAfterEach,
  delta,
  event,
  failureOf,
  KEY,
  modelAt,
  never,
  read,
  sendAnswer,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';

closeServersAfterEach();

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
    [
      429,
      [{ error: { message: 'You exceeded your current quota', status: 'RESOURCE_EXHAUSTED' } }],
      'rate_limited',
      true,
    ],
    [
      429,
      [{ error: { message: 'prepayment credits are depleted, see billing', status: 'RESOURCE_EXHAUSTED' } }],
      'quota',
      false,
    ],
    [400, [{ error: { message: 'API key not valid' } }], 'auth', false],
    [400, [{ error: { message: 'The input token count (9) exceeds the maximum' } }], 'context_length', false],
    [400, { error: { message: 'Your request exceeded model token limit: 8' } }, 'context_length', false],
    [400, { error: { message: 'Model Not Exist' } }, 'not_found', false],
    [400, { object: 'error', message: 'Invalid model: x' }, 'not_found', false],
    [403, { error: { message: 'Out of call volume quota' } }, 'quota', false],
    [403, { error: { message: 'requires moderation and your input was flagged' } }, 'bad_request', false],
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
      const error = await failureOf(modelAt(url).stream(call, { userId: 'alice', signal: never }));
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
    const port = modelAt(url);
    const waits = [];
    for (let attempt = 0; attempt < 3; attempt += 1)
      waits.push((await failureOf(port.stream(call, { userId: 'alice', signal: never }))).details['retryAfterMs']);
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
        response.writeHead(200, STREAM_HEADERS).write(delta({ content: 'half' }), () => {
          cut(response);
        });
      });
      const error = await failureOf(modelAt(url).stream(call, { userId: 'alice', signal: never }));
      expect([error.details['reason'], error.retryable]).toEqual(['stream_cut', true]);
    }
  });

  test('an error object inside the stream is reported like a refusal', async () => {
    const bodies: [string, string][] = [
      [event({ error: { message: `x ${KEY}`, code: 429 } }), 'rate_limited'],
      [event({ error: { message: 'Overloaded', type: 'overloaded_error' } }), 'server'],
      [`event: error\n${event({ message: 'no', type: 'invalid' })}`, 'bad_request'],
      [`event: error\n${event({ type: 'error', error: { type: 'overloaded_error', message: 'no' } })}`, 'server'],
      [event({ error: { message: 'no', code: 'rate_limit_exceeded' } }), 'rate_limited'],
    ];
    for (const [body, reason] of bodies) {
      const url = await serve(
        (response) => void response.writeHead(200, STREAM_HEADERS).end(delta({ content: 'a' }) + body),
      );
      const error = await failureOf(modelAt(url).stream(call, { userId: 'alice', signal: never }));
      expect(error.details['reason']).toBe(reason);
      expect(`${error.message}${JSON.stringify(error.details)}`).not.toContain(KEY);
      expect(error.details['providerText']).toMatch(/^(x \[redacted\]|Overloaded|no)$/);
    }
  });

  test('invalid chunks, other content types and answers that are too large are refused', async () => {
    const answers: [(response: ServerResponse) => void, string][] = [
      [(response) => void response.writeHead(200, STREAM_HEADERS).end('data: {"choices":\n\n'), 'malformed'],
      [(response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), 'malformed'],
      [
        (response) => void response.writeHead(200, STREAM_HEADERS).end(`: ${'x'.repeat(17 * 1024 * 1024)}\n\n`),
        'too_large',
      ],
    ];
    for (const [answer, reason] of answers) {
      const error = await failureOf(modelAt(await serve(answer)).stream(call, { userId: 'alice', signal: never }));
      expect(error.details['reason']).toBe(reason);
    }
  });

  test('a long answer in many small frames comes whole', async () => {
    const frames = 70_000;
    const frame = delta({ content: 'word', padding: 'x'.repeat(160) });
    const url = await serve(
      (response) => void response.writeHead(200, STREAM_HEADERS).end(frame.repeat(frames) + delta({}, 'stop')),
    );
    const deltas = await read(modelAt(url).stream(call, { userId: 'alice', signal: never }));
    expect(frame.length * frames).toBeGreaterThan(16 * 1024 * 1024);
    expect(deltas.map(({ content = '' }) => content).join('')).toHaveLength(4 * frames);
  });

  test('an answer above the limit of characters ends there with the finish reason length', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    const pieces = [{ content: piece }, { reasoning_content: piece }, { content: piece }, { content: piece }];
    const url = await serve((response) => {
      response
        .writeHead(200, STREAM_HEADERS)
        .end([...pieces, { content: 'more' }].map((one) => delta(one)).join('') + delta({}, 'stop'));
    });
    const deltas = await read(modelAt(url).stream(call, { userId: 'alice', signal: never }));
    expect(deltas).toHaveLength(5);
    expect(deltas.at(-1)).toEqual({
      finishReason: 'length',
      responseMetadata: { answer_limit_chars: 4 * 1024 * 1024 },
    });
  });

  test('no server at the address is a broken connection', async () => {
    const url = await serve(sendAnswer);
    await closeLastServer();
    const error = await failureOf(modelAt(url).stream(call, { userId: 'alice', signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual(['connection', true]);
  });

  test('a model with a configuration problem refuses with its text', async () => {
    const error = await failureOf(
      modelAt('http://127.0.0.1:9/v1', {}, { problem: 'set OPENAI_API_KEY' }).stream(call, {
        userId: 'alice',
        signal: never,
      }),
    );
    expect(error.message).toContain('set OPENAI_API_KEY');
    expect([error.details['reason'], error.retryable]).toEqual(['not_configured', false]);
  });
});

test("Google's RetryInfo says when to try again", async () => {
  const body = [{ error: { status: 'RESOURCE_EXHAUSTED', details: [{ '@type': 'RetryInfo', retryDelay: '2.5s' }] } }];
  const url = await serve((response) => void response.writeHead(429, {}).end(JSON.stringify(body)));
  const error = await failureOf(modelAt(url).stream(call, { userId: 'alice', signal: never }));
  expect(error.details).toMatchObject({ reason: 'rate_limited', retryAfterMs: 2_500 });
});

describe('an error that a provider reports with HTTP 200', () => {
  const json = (body: unknown) =>
    serve((response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
  const events = (...chunks: unknown[]) =>
    serve((response) => void response.writeHead(200, STREAM_HEADERS).end(chunks.map(event).join('')));

  test.each([
    [() => json({ error: { message: 'no such key', code: 401 } }), 'auth', false],
    [() => json({ base_resp: { status_code: 1008, status_msg: 'insufficient balance' } }), 'quota', false],
    [() => json({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] }), 'malformed', true],
    [() => events({ base_resp: { status_code: 1002, status_msg: 'rate limit' } }), 'rate_limited', true],
    [() => events({ object: 'error', message: 'boom', code: 500 }), 'server', true],
    [() => events({ choices: [{ delta: {}, finish_reason: 'error' }] }), 'server', true],
    [() => events({ choices: [{ delta: {}, finish_reason: 'insufficient_system_resource' }] }), 'server', true],
  ])('%# is reported by its meaning', async (start, reason, retryable) => {
    const error = await failureOf(modelAt(await start()).stream(call, { userId: 'alice', signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual([reason, retryable]);
  });
});

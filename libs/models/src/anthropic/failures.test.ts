import { Secret } from '@caribou/config';
import { claude, messageStart, sse, textBlock } from '../testing/claude.js';
import {
  call,
  closeServersAfterEach,
  failureOf,
  KEY,
  modelAt,
  never,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';

closeServersAfterEach();

const model = (baseUrl: string) =>
  modelAt(baseUrl, {}, { ...claude('claude-opus-5-5'), name: 'm', baseUrl, apiKey: new Secret(KEY) });

describe('a failure', () => {
  const statuses = [
    {
      status: 400,
      type: 'invalid_request_error',
      message: 'messages: roles must alternate',
      reason: 'bad_request',
      retryable: false,
    },
    {
      status: 400,
      type: 'invalid_request_error',
      message: 'prompt is too long: 215000 tokens > 200000 maximum',
      reason: 'context_length',
      retryable: false,
    },
    {
      status: 400,
      type: 'invalid_request_error',
      message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
      reason: 'context_length',
      retryable: false,
    },
    {
      status: 400,
      type: 'invalid_request_error',
      message: 'Your credit balance is too low to access the Anthropic API.',
      reason: 'quota',
      retryable: false,
    },
    {
      status: 400,
      type: 'invalid_request_error',
      message: 'You have reached your specified API usage limits.',
      reason: 'quota',
      retryable: false,
    },
    { status: 401, type: 'authentication_error', message: 'invalid x-api-key', reason: 'auth', retryable: false },
    {
      status: 402,
      type: 'billing_error',
      message: 'There is a problem with your payment.',
      reason: 'quota',
      retryable: false,
    },
    { status: 403, type: 'permission_error', message: 'not allowed', reason: 'auth', retryable: false },
    { status: 404, type: 'not_found_error', message: 'model: claude-none', reason: 'not_found', retryable: false },
    {
      status: 413,
      type: 'request_too_large',
      message: 'Request exceeds the maximum size',
      reason: 'context_length',
      retryable: false,
    },
    {
      status: 429,
      type: 'rate_limit_error',
      message:
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute. Please reduce the prompt length",
      reason: 'rate_limited',
      retryable: true,
    },
    {
      status: 429,
      type: 'rate_limit_error',
      message: 'Number of requests exceeds the acceleration limit',
      reason: 'burst',
      retryable: true,
    },
    { status: 500, type: 'api_error', message: 'Internal server error', reason: 'server', retryable: true },
    { status: 504, type: 'timeout_error', message: 'The request timed out', reason: 'server', retryable: true },
    { status: 529, type: 'overloaded_error', message: 'Overloaded', reason: 'server', retryable: true },
  ];
  const body = (type: string, message: string) => ({
    type: 'error',
    error: { type, message: `${message} ${KEY}` },
    request_id: 'req_1',
  });

  test.each(statuses)('$status $type "$message" is $reason', async ({ status, type, message, reason, retryable }) => {
    const url = await serve(
      (response) =>
        void response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify(body(type, message))),
    );
    const error = await failureOf(model(url).stream(call, { userId: 'alice', signal: never }));
    expect(error.details).toMatchObject({
      reason,
      providerStatus: status,
      providerCode: type,
      providerText: `${message} [redacted]`,
    });
    expect(error.retryable).toBe(retryable);
  });

  test.each(statuses.filter(({ status }) => status > 400))(
    '$status $type is the same in the middle of an answer',
    async ({ status, type, message, reason, retryable }) => {
      const text = sse(messageStart(), ...textBlock(0, 'half'), body(type, message));
      const url = await serve((response) => void response.writeHead(200, STREAM_HEADERS).end(text));
      const error = await failureOf(model(url).stream(call, { userId: 'alice', signal: never }));
      expect(error.details).toMatchObject({
        reason,
        providerStatus: status,
        providerCode: type,
        providerText: `${message} [redacted]`,
      });
      expect(error.retryable).toBe(retryable);
    },
  );

  test('waits until the limits that are used up are reset, unless the provider says how long', async () => {
    const now = Date.now();
    const at = (ms: number) => new Date(now + ms).toISOString();
    const limits = {
      'anthropic-ratelimit-requests-remaining': '7',
      'anthropic-ratelimit-requests-reset': at(90_000),
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': at(30_000),
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': at(20_000),
    };
    const headers = [limits, { ...limits, 'retry-after': '2' }, {}];
    const url = await serve((response) => void response.writeHead(429, headers.shift()).end('{}'));
    const port = model(url);
    const waits: unknown[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1)
      waits.push((await failureOf(port.stream(call, { userId: 'alice', signal: never }))).details['retryAfterMs']);
    expect(waits.slice(1)).toEqual([2_000, undefined]);
    expect(waits[0]).toBeGreaterThan(now + 30_000 - Date.now() - 1);
    expect(waits[0]).toBeLessThanOrEqual(30_000);
  });
});

import { Secret } from '@caribou/config';
import type { ModelPort } from '@caribou/core';
import { eventsOf, messageItem, response as responseWith, streamOf } from '../testing/response-events.js';
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

const responsesAt = (url: string): ModelPort => modelAt(url, {}, { apiKey: new Secret(KEY), protocol: 'responses' });
const sending = (body: string): Promise<string> =>
  serve((response) => void response.writeHead(200, STREAM_HEADERS).end(body));

describe('a failed answer', () => {
  const failed = (error: unknown) => ({ type: 'response.failed', response: { ...responseWith({}), error } });
  const half = eventsOf([messageItem('msg_1', 'half')]).slice(0, 5);
  const rateLimit = { code: 'rate_limit_exceeded', message: `Rate limit reached ${KEY}` };
  const tooLong = { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' };

  const streams: [string, object, string, boolean][] = [
    ['a rate limit', failed(rateLimit), 'rate_limited', true],
    ['a rate limit in an error event', { type: 'error', ...rateLimit, param: null }, 'rate_limited', true],
    [
      'a context overflow',
      { type: 'error', error: { type: 'invalid_request_error', ...tooLong } },
      'context_length',
      false,
    ],
    ['a failed context overflow', failed(tooLong), 'context_length', false],
    ['an overload', failed({ code: 'server_is_overloaded', message: 'Our servers are overloaded.' }), 'server', true],
    ['an error of the server', failed({ code: 'server_error', message: 'An error occurred.' }), 'server', true],
    ['a used up quota', failed({ code: 'insufficient_quota', message: 'You exceeded your quota.' }), 'quota', false],
    ['a refused prompt', failed({ code: 'invalid_prompt', message: 'Flagged.' }), 'bad_request', false],
    ['no error', failed(null), 'server', true],
    ['a malformed end', { type: 'response.completed' }, 'malformed', true],
  ];
  test.each(streams)('with %s inside the stream is reported by its meaning', async (_, event, reason, retryable) => {
    const url = await sending(streamOf([...half, { type: 'x', ...event }]));
    const error = await failureOf(responsesAt(url).stream(call, { signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual([reason, retryable]);
    expect(JSON.stringify([error.message, error.details])).not.toContain(KEY);
  });

  const statuses: [number, Record<string, string>, object, object][] = [
    [401, {}, { code: 'invalid_api_key', message: `Incorrect API key provided: ${KEY}` }, { reason: 'auth' }],
    [404, {}, { code: 'model_not_found', message: 'The model does not exist' }, { reason: 'not_found' }],
    [429, { 'retry-after': '3' }, rateLimit, { reason: 'rate_limited', retryAfterMs: 3_000 }],
    [429, {}, rateLimit, { reason: 'rate_limited' }],
    [400, {}, tooLong, { reason: 'context_length' }],
    [503, {}, { code: 'slow_down', message: 'Slow down' }, { reason: 'server' }],
  ];
  test.each(statuses)(
    'with HTTP %i and the headers %j is reported by its meaning',
    async (status, headers, error, facts) => {
      const url = await serve(
        (response) =>
          void response
            .writeHead(status, { ...headers, 'content-type': 'application/json' })
            .end(JSON.stringify({ error })),
      );
      const { details, message } = await failureOf(responsesAt(url).stream(call, { signal: never }));
      expect(details).toMatchObject({ providerStatus: status, ...facts });
      expect(message).not.toContain(KEY);
    },
  );

  test.each([
    ['that ends before its last event', streamOf(half), 'stream_cut'],
    [
      'with an event that is no JSON',
      `${streamOf(half)}event: response.output_text.delta\ndata: {"type":\n\n`,
      'malformed',
    ],
    ['with [DONE] in place of an end', `${streamOf(half)}data: [DONE]\n\n`, 'stream_cut'],
  ])('%s can be asked again', async (_, body, reason) => {
    const error = await failureOf(responsesAt(await sending(body)).stream(call, { signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual([reason, true]);
  });
});

import { Secret } from '@caribou/config';
import type { ModelPort } from '@caribou/core';
import {
  callItem,
  eventsOf,
  messageItem,
  reasoningItem,
  response as responseWith,
  streamOf,
} from '../testing/response-events.js';
import {
  call,
  closeServersAfterEach,
  failureOf,
  KEY,
  modelAt,
  never,
  read,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';
import { storedAnswer } from '../testing/stored-answer.js';
import { EventReader } from './event-reader.js';

closeServersAfterEach();

const JSON_HEADERS = { 'content-type': 'application/json' };
const responsesAt = (url: string): ModelPort => modelAt(url, {}, { apiKey: new Secret(KEY), protocol: 'responses' });
const sending = (body: string): Promise<string> =>
  serve((response) => void response.writeHead(200, STREAM_HEADERS).end(body));

describe('reasoning that the endpoint cannot decrypt', () => {
  const refusal = { error: { code: 'invalid_encrypted_content', message: 'could not be verified', param: null } };

  test('is left out of the request, which is sent once more', async () => {
    const inputs: unknown[] = [];
    const url = await serve((response, _, body) => {
      inputs.push((JSON.parse(body) as { input: unknown }).input);
      if (body.includes('"reasoning"')) response.writeHead(400, JSON_HEADERS).end(JSON.stringify(refusal));
      else response.writeHead(200, STREAM_HEADERS).end(streamOf(eventsOf([messageItem('msg_1', 'hi')])));
    });
    const model = responsesAt(url);
    const output = [reasoningItem('rs_1'), messageItem('msg_1', 'Hi'), callItem('fc_1', 'ls', '{}')];
    const reader = new EventReader();
    const deltas = eventsOf(output).flatMap((one) => {
      const chunk = reader.read(one);
      return chunk.kind === 'delta' ? [chunk.delta] : [];
    });
    const answer = storedAnswer([...deltas, reader.last()], { ...model.endpoint, dialect: model.dialect });
    const answers = await read(
      model.stream({ system: '', messages: [answer], tools: [] }, { userId: 'alice', signal: never }),
    );

    expect(answers.at(-1)).toMatchObject({ finishReason: 'stop' });
    expect(inputs).toEqual([
      [expect.objectContaining({ id: 'rs_1' }), expect.objectContaining({ id: 'msg_1' }), expect.anything()],
      [
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi', annotations: [] }] },
        { type: 'function_call', call_id: 'call_of_fc_1', name: 'ls', arguments: '{}' },
      ],
    ]);
  });

  test('is an error when the second request is refused as well', async () => {
    let requests = 0;
    const url = await serve((response) => {
      requests += 1;
      response.writeHead(400, JSON_HEADERS).end(JSON.stringify(refusal));
    });
    const error = await failureOf(responsesAt(url).stream(call, { userId: 'alice', signal: never }));
    expect([error.details['reason'], requests]).toEqual(['bad_request', 2]);
  });
});

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
    const error = await failureOf(responsesAt(url).stream(call, { userId: 'alice', signal: never }));
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
      const { details, message } = await failureOf(responsesAt(url).stream(call, { userId: 'alice', signal: never }));
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
    const error = await failureOf(responsesAt(await sending(body)).stream(call, { userId: 'alice', signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual([reason, true]);
  });
});

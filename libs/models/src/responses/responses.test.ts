import { Secret } from '@caribou/config';
import { isRecord, type Message } from '@caribou/contracts';
import type { ModelCall, ModelPort } from '@caribou/core';
import {
  callItem,
  eventsOf,
  messageItem,
  type OutputItem,
  reasoningItem,
  response as responseWith,
  streamOf,
} from '../testing/response-events.js';
import {
  call,
  closeServersAfterEach,
  KEY,
  modelAt,
  never,
  read,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';
import { storedAnswer } from '../testing/stored-answer.js';

closeServersAfterEach();

const openAi = { apiKey: new Secret(KEY), protocol: 'responses', supportsThinking: true } as const;
const responsesAt = (url: string, extra: object = {}): ModelPort => modelAt(url, {}, { ...openAi, ...extra });
const sending = (body: string): Promise<string> =>
  serve((response) => void response.writeHead(200, STREAM_HEADERS).end(body));

describe('a streamed answer', () => {
  const output = [
    reasoningItem('rs_1', ['Größe', 'prüfen']),
    messageItem('msg_1', 'Grüße 🦌, ein Rentier', 'commentary'),
    callItem('fc_1', 'bash', '{"command":"ls \\"ä\\""}'),
  ];

  test('is the same however the bytes are cut', async () => {
    const bytes = Buffer.from(streamOf(eventsOf(output, 3)));
    const answers = [];
    for (const size of [bytes.length, 1_021, 97, 7]) {
      const url = await serve((response) => {
        response.writeHead(200, STREAM_HEADERS);
        const send = (at: number): void => {
          if (at >= bytes.length) response.end();
          else response.write(bytes.subarray(at, at + size), () => setImmediate(send, at + size));
        };
        send(0);
      });
      const deltas = await read(responsesAt(url).stream(call, { userId: 'alice', signal: never }));
      const { provider_extras: extras, ...message } = storedAnswer(deltas, responsesOrigin(url));
      answers.push({
        message,
        parts: extras?.parts,
        reasoning: deltas.map(({ reasoning = '' }) => reasoning).join(''),
      });
    }

    const [first] = answers;
    expect(first).toMatchObject({
      message: {
        content: 'Grüße 🦌, ein Rentier',
        tool_calls: [{ name: 'bash', args: { command: 'ls "ä"' } }],
      },
      reasoning: 'Größe\n\nprüfen',
    });
    expect(answers).toEqual([first, first, first, first]);
  });

  test('is over with its last event, although the server leaves the connection open', async () => {
    const url = await serve((response) => {
      response.writeHead(200, STREAM_HEADERS).write(streamOf(eventsOf([messageItem('msg_1', 'hi')])));
    });
    const deltas = await read(responsesAt(url).stream(call, { userId: 'alice', signal: never }));
    expect(deltas.at(-1)).toMatchObject({ finishReason: 'stop', responseMetadata: { id: 'resp_1' } });
  });

  test('of reasoning alone has no text, and nothing of it is sent back', async () => {
    const url = await sending(streamOf(eventsOf([reasoningItem('rs_1', ['hm'])])));
    const deltas = await read(responsesAt(url).stream(call, { userId: 'alice', signal: never }));
    expect(deltas.map(({ content }) => content).filter(Boolean)).toEqual([]);
    expect(deltas.at(-1)).toMatchObject({ finishReason: 'stop', extras: { message: { parts: 1 } } });
  });

  test('that ends within the arguments of a call has them as they are, with the finish reason length', async () => {
    const events = eventsOf([callItem('fc_1', 'bash', '{"command":"ls"}')]).slice(0, 5);
    const response = responseWith({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    const url = await sending(streamOf([...events, { type: 'response.incomplete', response }]));
    const deltas = await read(responsesAt(url).stream(call, { userId: 'alice', signal: never }));
    const args = deltas.flatMap(({ toolCallChunks = [] }) => toolCallChunks).map((chunk) => chunk.args);
    expect([args.join(''), deltas.at(-1)?.finishReason]).toEqual(['{"comman', 'length']);
  });
});

describe('a request', () => {
  const bases = [
    ['/v1', '/v1/responses'],
    ['/openai/v1/', '/openai/v1/responses'],
  ] as const;
  test.each(bases)('to a base URL that ends with %s goes to %s with the key', async (base, path) => {
    const seen: unknown[] = [];
    const url = await serve((response, request, body) => {
      seen.push({ path: request.url, authorization: request.headers.authorization, body: JSON.parse(body) as unknown });
      response.writeHead(200, STREAM_HEADERS).end(streamOf(eventsOf([messageItem('msg_1', 'hi')])));
    });
    await read(responsesAt(url.replace('/v1', base)).stream(call, { userId: 'alice', signal: never }));
    expect(seen).toEqual([
      {
        path,
        authorization: `Bearer ${KEY}`,
        body: {
          model: 'm-1',
          input: [{ type: 'message', role: 'system', content: 'be kind' }],
          include: ['reasoning.encrypted_content'],
          store: false,
          stream: true,
        },
      },
    ]);
  });

  test('is known by its protocol in the extras of its answers', () => {
    expect(responsesAt('https://api.example.org/v1')).toMatchObject({
      endpoint: { provider: 'api.example.org/v1', model: 'm-1' },
      dialect: 'responses',
    });
  });
});

describe('a conversation of several steps', () => {
  const steps: OutputItem[][] = [
    [reasoningItem('rs_1', ['List']), messageItem('msg_1', 'I look.', 'commentary'), callItem('fc_1', 'bash', '{}')],
    [reasoningItem('rs_2'), callItem('fc_2', 'bash', '{}'), callItem('fc_3', 'bash', '{}')],
    [reasoningItem('rs_3'), messageItem('msg_3', 'Two files.', 'final_answer')],
    [messageItem('msg_4', 'Bye.', 'final_answer')],
  ];

  test('has each request begin with the whole one before it, and the output of each answer as it was', async () => {
    const bodies: Record<string, unknown>[] = [];
    const url = await serve((response, _, body) => {
      bodies.push(JSON.parse(body) as Record<string, unknown>);
      response.writeHead(200, STREAM_HEADERS).end(streamOf(eventsOf(steps[bodies.length - 1] ?? [])));
    });
    await converse(responsesAt(url), steps.length);

    const inputs = bodies.map(({ input }) => (Array.isArray(input) ? (input as unknown[]) : []));
    for (const [at, input] of inputs.entries()) {
      const before = inputs[at - 1] ?? [];
      expect(input.slice(0, before.length)).toEqual(before);
    }
    const last = inputs.at(-1)?.filter(isRecord) ?? [];
    const idsOf = (items: readonly object[]) => items.flatMap((item) => ('id' in item ? [item.id] : []));
    expect(idsOf(last)).toEqual(idsOf(steps.slice(0, 3).flat()));
    expect(last.filter(({ type }) => type === 'reasoning').map(({ encrypted_content: text }) => text)).toEqual([
      'gAAAAAB-rs_1',
      'gAAAAAB-rs_2',
      'gAAAAAB-rs_3',
    ]);
    const callIds = (type: string) => last.filter((item) => item['type'] === type).map((item) => item['call_id']);
    expect(callIds('function_call_output')).toEqual(callIds('function_call'));
    expect(bodies.map(({ input: _, ...rest }) => JSON.stringify(rest))).toEqual(
      bodies.map(() => JSON.stringify({ ...bodies[0], input: undefined })),
    );
  });
});

const responsesOrigin = (url: string) => ({ provider: url.replace('http://', ''), model: 'm-1', dialect: 'responses' });

/** Asks for answers until `count`, with a result for each call and a message of the user after an answer without calls. */
async function converse(model: ModelPort, count: number): Promise<void> {
  const common = { additional_kwargs: {}, response_metadata: {} };
  const tools: ModelCall['tools'] = [{ name: 'bash', description: 'runs', parameters: { type: 'object' } }];
  const messages: Message[] = [{ type: 'human', id: 'h', content: 'What is there?', ...common }];
  for (let step = 0; step < count; step += 1) {
    const deltas = await read(model.stream({ system: 'be kind', messages, tools }, { userId: 'alice', signal: never }));
    const stored = storedAnswer(deltas, { ...model.endpoint, dialect: model.dialect });
    const answer = JSON.parse(JSON.stringify(stored).replaceAll('"call-', `"call-${step}-`)) as typeof stored;
    messages.push(answer);
    for (const { id } of answer.tool_calls)
      messages.push({ type: 'tool', id, tool_call_id: id, name: 'bash', status: 'success', content: 'a b', ...common });
    if (answer.tool_calls.length === 0) messages.push({ type: 'human', id: `h${step}`, content: 'Thanks', ...common });
  }
}

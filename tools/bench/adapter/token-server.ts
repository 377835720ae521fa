import { createServer } from 'node:http';

/** Tokens of one answer, and events in one write of the server: a provider that answers fast. */
const TOKENS = 2_000;
const EVENTS_PER_WRITE = 20;

type Events = readonly [first: readonly object[], token: (index: number) => object, last: readonly object[]];

const chunk = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm-1',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const usage = { prompt_tokens: 10, completion_tokens: TOKENS, total_tokens: TOKENS + 10 };
const argument = (index: number): string => (index === 0 ? '{"a":"' : index === TOKENS - 1 ? '"}' : 'word');

/** Events by the path of the base URL and the kind of answer. */
const answers: Readonly<Record<string, Events>> = {
  '/chat/text': [
    [chunk({ role: 'assistant', content: '' })],
    () => chunk({ content: 'word ' }),
    [chunk({}, { finish_reason: 'stop' }), { ...chunk({}), choices: [], usage }],
  ],
  '/chat/arguments': [
    [chunk({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'bash', arguments: '' } }] })],
    (index) => chunk({ tool_calls: [{ index: 0, function: { arguments: argument(index) } }] }),
    [chunk({}, { finish_reason: 'tool_calls' }), { ...chunk({}), choices: [], usage }],
  ],
  '/responses/text': [
    [
      { type: 'response.created', response: { id: 'r', model: 'm-1' } },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'i', content: [] } },
    ],
    (index) => ({
      type: 'response.output_text.delta',
      item_id: 'i',
      output_index: 0,
      delta: 'word ',
      sequence_number: index,
    }),
    [
      { type: 'response.output_item.done', output_index: 0, item: { type: 'message', id: 'i', content: [] } },
      { type: 'response.completed', response: { id: 'r', model: 'm-1', status: 'completed', output: [] } },
    ],
  ],
  '/messages/text': [
    [
      { type: 'message_start', message: { id: 'm', model: 'm-1', usage: { input_tokens: 10, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    () => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'word ' } }),
    [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: TOKENS } },
      { type: 'message_stop' },
    ],
  ],
};

const frame = (event: object): string =>
  `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`;

/** The writes of an answer. */
function writesOf([first, token, last]: Events): readonly string[] {
  const frames = [...first, ...Array.from({ length: TOKENS }, (_, index) => token(index)), ...last].map(frame);
  return Array.from({ length: Math.ceil(frames.length / EVENTS_PER_WRITE) }, (_, at) =>
    frames.slice(at * EVENTS_PER_WRITE, (at + 1) * EVENTS_PER_WRITE).join(''),
  );
}

const writes = new Map(Object.entries(answers).map(([path, events]) => [path, writesOf(events)]));

/** Streams the answer whose path the request begins with, one write in each turn of the event loop. */
const server = createServer((request, response) => {
  request.resume();
  const [, answer = []] = [...writes].find(([path]) => request.url?.startsWith(path)) ?? [];
  response.writeHead(answer.length > 0 ? 200 : 404, { 'content-type': 'text/event-stream' });
  let at = 0;
  const next = (): void => {
    const text = answer[at];
    at += 1;
    if (text === undefined) response.end();
    else response.write(text, () => setImmediate(next));
  };
  next();
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({ type: 'ready', port: address.port });
});

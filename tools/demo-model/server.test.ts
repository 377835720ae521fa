import OpenAI from 'openai';
import { type DemoModel, startDemoModel } from './server.js';

let model: DemoModel;
let client: OpenAI;

beforeAll(async () => {
  model = await startDemoModel();
  client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'unused', maxRetries: 0 });
});
afterAll(() => model.close());

type Message = OpenAI.ChatCompletionMessageParam;

async function collect(messages: Message[], signal?: AbortSignal) {
  const stream = await client.chat.completions.create(
    { model: 'caribou-demo', messages, stream: true, stream_options: { include_usage: true } },
    signal === undefined ? {} : { signal },
  );
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const script = (...lines: string[]): Message[] => [{ role: 'user', content: lines.join('\n') }];
const text = (chunks: OpenAI.ChatCompletionChunk[]) =>
  chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
const finish = (chunks: OpenAI.ChatCompletionChunk[]) =>
  chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean);

/** Waits for a condition that depends on the socket, limited by the time of the test. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('summaries and titles', () => {
  const reading = (words: string, facts: unknown[] = []) =>
    script(
      `<current_memory>\n${JSON.stringify({ facts })}\n</current_memory>\n\n<conversation>\n[1] User: ${words}\n\n[2] Assistant: I like it too.\n</conversation>`,
    );
  const learnt = async (words: string, facts: unknown[] = []): Promise<unknown> =>
    JSON.parse(text(await collect(reading(words, facts))));

  test('a memory extraction returns what the user says, and what is to be forgotten', async () => {
    expect(await learnt('#say I like tea\nI live in Oslo. What else? No, that is wrong: x')).toMatchObject({
      newFacts: [{ content: 'I live in Oslo.', category: 'context', confidence: 0.95, from: [1] }],
      user: { topOfMind: { summary: 'Spoke of: I live in Oslo.', shouldUpdate: true } },
      factsToRemove: [],
    });
    expect(
      await learnt("Forget: oslo. No, that's wrong: it is Rome", [{ id: 'f1', content: 'Lives in Oslo' }]),
    ).toMatchObject({
      newFacts: [{ content: 'it is Rome', category: 'correction' }],
      factsToRemove: ['f1'],
    });
    expect(text(await collect(reading('memory-says:no idea')))).toBe('no idea');
    expect(text(await collect(reading('I know Go memory-sloppy')))).toContain(',}');
    const twice = `memory-fails:503x1 ${Math.random()}`;
    await expect(collect(reading(twice))).rejects.toMatchObject({ status: 503 });
    expect(await learnt(twice)).toMatchObject({ newFacts: [] });
  });

  test('a goal is reached, unless its text wants a word that no answer has', async () => {
    const judged = async (goal: string, answer: string): Promise<unknown> => {
      const prompt = `Goal:\n${goal}\n\nConversation:\nUser: #say no\n\nAssistant: ${answer}\n\nIs the goal reached?`;
      return JSON.parse(text(await collect(script(prompt))));
    };

    expect(await judged('Write.', 'x')).toMatchObject({ satisfied: true, blocker: 'none' });
    expect(await judged('goal-needs:END', 'x')).toMatchObject({ satisfied: false, blocker: 'goal_not_met_yet' });
    expect(await judged('goal-needs:END', 'the END')).toMatchObject({ satisfied: true });
    expect(await judged('goal-says:{"a":1}', 'x')).toEqual({ a: 1 });
  });

  const summary = (words: string) =>
    script(
      `<existing_summary>\nold\n</existing_summary>\n\n<new_messages>\n<message from="person">${words}</message>\n</new_messages>`,
    );

  test('a request for a summary is answered by one, whatever directives the conversation contains', async () => {
    expect(text(await collect(summary('#tool bash {}\n#say no')))).toBe('Summary of 1 messages.');
  });

  test('text of the conversation makes it fail, or wait', async () => {
    await expect(collect(summary('summary-fails:500'))).rejects.toMatchObject({ status: 500 });
    const held = collect(summary('summary-hold:later'));
    await until(() => model.listHolds().some(({ name }) => name === 'later'));
    model.release('later');
    expect(text(await held)).toBe('Summary of 1 messages.');
    const title = collect(script('Write a title of at most 6 words.\n\nPerson: title-hold:name'));
    await until(() => model.listHolds().some(({ name }) => name === 'name'));
    model.release('name');
    expect(text(await title)).toBe('Held title');
  });
});

describe('answers', () => {
  test('a text streams in several deltas under one id, then one usage chunk', async () => {
    const chunks = await collect(script('#usage 7 9', '#say one two three'));

    expect(text(chunks)).toBe('one two three');
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(finish(chunks)).toEqual(['stop']);
    expect(chunks.filter((chunk) => chunk.usage).map((chunk) => chunk.usage?.total_tokens)).toEqual([16]);
    expect(chunks.at(-1)?.choices).toEqual([]);
  });

  test('steps follow each other by the assistant messages of the turn, then it says done', async () => {
    const turn: Message[] = [...script('#tool bash {"command":"ls"}', '#+tool bash {"command":"pwd"}', '#say end')];
    const first = await client.chat.completions.create({ model: 'caribou-demo', messages: turn });
    const asked = first.choices[0]?.message;
    if (asked === undefined) throw new Error('no choice');
    const calls = asked.tool_calls ?? [];
    turn.push(asked, ...calls.map((call): Message => ({ role: 'tool', tool_call_id: call.id, content: 'ok' })));
    const second = await client.chat.completions.create({ model: 'caribou-demo', messages: turn });
    turn.push({ role: 'assistant', content: second.choices[0]?.message.content ?? '' });
    const third = await client.chat.completions.create({ model: 'caribou-demo', messages: turn });

    expect(calls.map((call) => (call.type === 'function' ? call.function.arguments : ''))).toEqual([
      '{"command":"ls"}',
      '{"command":"pwd"}',
    ]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(2);
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');
    expect([second, third].map((answer) => answer.choices[0]?.message.content)).toEqual(['end', 'done']);
  });

  test('thinking, text and a call come in one answer, with the call id of the script', async () => {
    const chunks = await collect(script('#callid call_0', '#think hm hm', '#say look', '#+tool bash {"command":"x"}'));
    const deltas = chunks.flatMap((chunk) => (chunk.choices[0] ? [chunk.choices[0].delta] : []));
    const calls = deltas.flatMap((delta) => delta.tool_calls ?? []);

    expect(deltas.map((delta) => ('reasoning_content' in delta ? delta.reasoning_content : '')).join('')).toBe('hm hm');
    expect(calls[0]).toMatchObject({ index: 0, id: 'call_0', function: { name: 'bash' } });
    expect(calls.map((call) => call.function?.arguments ?? '').join('')).toBe('{"command":"x"}');
    expect(finish(chunks)).toEqual(['tool_calls']);
  });

  test('N tokens are N deltas and a length limit is a finish reason', async () => {
    const chunks = await collect(script('#tokens 50', '#+length'));

    expect(chunks.filter((chunk) => chunk.choices[0]?.delta.content).length).toBe(50);
    expect(finish(chunks)).toEqual(['length']);
  });

  test('the received messages are returned as JSON', async () => {
    expect(JSON.parse(text(await collect(script('#echo-messages'))))).toEqual(script('#echo-messages'));
  });

  test('malformed arguments are sent as written', async () => {
    const calls = (await collect(script('#badargs bash {"command": oops'))).flatMap(
      (chunk) => chunk.choices[0]?.delta.tool_calls ?? [],
    );

    expect(calls.map((call) => call.function?.arguments ?? '').join('')).toBe('{"command": oops');
  });

  test('the lines that mark a user’s text are not part of it', async () => {
    const words = ['#say one', '#say two'];
    const block = '<uploaded_files>\n- a.txt\n</uploaded_files>\n\n';
    const markUserInput = (text: string): string => `<user_input>\n${text}\n</user_input>`;
    const parts = ['\n<user_input>\n', ...words, '\n</user_input>'].map((part) => ({
      type: 'text' as const,
      text: part,
    }));

    expect(text(await collect(script(markUserInput(words.join('\n')))))).toBe('one');
    expect(text(await collect(script(`${block}${markUserInput(words.join('\n'))}`)))).toBe('one');
    expect(text(await collect([{ role: 'user', content: parts }]))).toBe('one');
    expect(text(await collect(script(markUserInput('<b>#say</b>'))))).toContain('scripted');
  });

  test('a reminder in the middle of a turn does not begin a new one', async () => {
    const call = { id: 'a', type: 'function' as const, function: { name: 'bash', arguments: '{}' } };
    const messages: Message[] = [
      ...script('#tool bash {}', '#say second'),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'user', name: 'loop_warning', content: 'you repeat yourself' },
      { role: 'user', content: '<system-reminder>\ntoday\n</system-reminder>' },
    ];

    expect(text(await collect(messages))).toBe('second');
  });
});

describe('failures', () => {
  test('an error with times fails that often and then the step continues', async () => {
    const messages = script(`#error 503 times=2 busy ${Math.random()}`, '#say ok');

    await expect(collect(messages)).rejects.toMatchObject({ status: 503, type: 'server_error' });
    await expect(collect(messages)).rejects.toMatchObject({ status: 503 });
    expect(text(await collect(messages))).toBe('ok');
  });

  test('an error after text is an error event inside the stream', async () => {
    await expect(collect(script('#say one two', '#+error 500 broke'))).rejects.toThrow('broke');
  });

  test('a cut stream has the requested deltas and neither finish reason nor [DONE]', async () => {
    const answer = await post({ model: 'm', stream: true, messages: script('#tokens 9', '#+cut 3') });
    const body = await answer.text();

    expect(body.match(/t\d /g)).toEqual(['t0 ', 't1 ', 't2 ']);
    expect(body).not.toContain('[DONE]');
    expect(body).not.toContain('"finish_reason":"');
  });

  test('a reset breaks the connection', async () => {
    const answer = await post({ model: 'm', stream: true, messages: script('#cut 2 reset') });

    await expect(answer.text()).rejects.toThrow();
  });

  test('a refused request, a bad script and a wrong path are errors in the shape of OpenAI', async () => {
    const orphan = await post({ model: 'm', messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] });
    const bad = await post({ model: 'm', messages: script('#say ok', '#sya typo') });
    const lost = await fetch(`${model.url}/v1/nothing`);

    expect([orphan.status, bad.status, lost.status]).toEqual([400, 400, 404]);
    expect(await orphan.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param: 'messages.[0].role', code: null },
    });
    expect(await bad.json()).toMatchObject({ error: { code: 'bad_directive' } });
  });

  test('a model with a key refuses calls without it', async () => {
    const guarded = await startDemoModel({ apiKey: 'k1' });
    const ask = (apiKey: string) =>
      new OpenAI({ baseURL: guarded.baseUrl, apiKey, maxRetries: 0 }).chat.completions.create({
        model: 'm',
        messages: script('#say in'),
      });

    await expect(ask('k2')).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect((await ask('k1')).choices[0]?.message.content).toBe('in');
    await guarded.close();
  });
});

describe('control', () => {
  test('a hold stops the stream at its position until it is released, and stays open then', async () => {
    const answer = collect(script('#say a b c d', '#+hold gate-1 after 2'));
    await until(() => model.listHolds().some((hold) => hold.name === 'gate-1'));

    expect(model.requests('gate-1').at(-1)).toMatchObject({ deltas: 2, finished: false, status: 200 });
    expect(await (await fetch(`${model.url}/control/release/gate-1`, { method: 'POST' })).json()).toEqual({
      released: 1,
    });
    expect(text(await answer)).toBe('a b c d');
    expect(text(await collect(script('#say a b c d', '#+hold gate-1 after 2')))).toBe('a b c d');
  });

  test('a hold before the first byte sends no headers', async () => {
    const answer = collect(script('#hold gate-2 before', '#say late'));
    await until(() => model.listHolds().some((hold) => hold.name === 'gate-2'));

    expect(model.requests('gate-2').at(-1)).toMatchObject({ status: null });
    model.release('gate-2');
    expect(text(await answer)).toBe('late');
  });

  test('a client that disconnects ends its stream, and the records show it', async () => {
    const left = new AbortController();
    const answer = collect(script('#tokens 2', '#+hold gate-3', '#+tokens 5'), left.signal).catch(() => undefined);
    await until(() => model.listHolds().some((hold) => hold.name === 'gate-3'));
    left.abort();
    await answer;
    await until(() => model.requests('gate-3').some((record) => record.closedByClient));

    expect(model.listHolds()).toEqual([]);
    expect(model.requests('gate-3')).toMatchObject([{ closedByClient: true, finished: false, deltas: 2 }]);
  });

  test('records contain the body, and a scripted end does not count as a disconnect', async () => {
    await (await post({ model: 'm', stream: true, messages: script('#cut 1 reset', 'mark-77') }))
      .text()
      .catch(() => undefined);
    const records = await (await fetch(`${model.url}/control/requests?contains=mark-77`)).json();

    expect(records).toMatchObject([{ body: { model: 'm' }, finished: true, closedByClient: false }]);
  });

  test('models and health are listed', async () => {
    expect((await client.models.list()).data.map((entry) => entry.id)).toEqual(['caribou-demo']);
    expect(await (await fetch(`${model.url}/health`)).json()).toMatchObject({ scripted: true });
  });
});

function post(body: object): Promise<Response> {
  return fetch(`${model.baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
}

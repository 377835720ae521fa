import { randomUUID } from 'node:crypto';
import { answerOf, post, type RunStreamsFixture, useRunStreams } from '../testing/run-streams-fixture.js';

let fixture: RunStreamsFixture;
useRunStreams((given) => {
  fixture = given;
});

const human = (content: string) => ({ messages: [{ type: 'human', content }] });

interface Reply {
  readonly type: string;
  readonly id: number | null;
  readonly result?: Record<string, unknown>;
  readonly error?: string;
  readonly message?: string;
  readonly meta?: { readonly applied_through_seq?: number };
}

let lastId = 0;

async function send(threadId: string, method: string, params: unknown = {}, gateway = 0): Promise<Reply> {
  lastId += 1;
  const response = await post(`${fixture.urlOf(gateway)}/threads/${threadId}/commands`, { id: lastId, method, params });
  expect(response.status).toBe(200);
  const reply = (await response.json()) as Reply;
  expect(reply.id).toBe(lastId);
  return reply;
}

const start = (threadId: string, more: object = {}): Promise<Reply> =>
  send(threadId, 'run.start', { assistant_id: 'lead_agent', input: human('hi'), ...more });

/** Runs a turn to its end; returns the id of the run. */
async function turn(threadId: string, answer = 'Hello.'): Promise<string> {
  const { result } = await start(threadId);
  const runner = await fixture.claim(threadId);
  await runner.finish('success', answerOf(randomUUID(), answer));
  return String(result?.['run_id']);
}

describe('run.start', () => {
  test('creates the thread and numbers each run above all events of those before', async () => {
    const threadId = randomUUID();

    const first = await start(threadId);
    await (await fixture.claim(threadId)).finish('success', answerOf('a1', 'Hello.'));
    const second = await start(threadId);
    const third = await start(threadId, { multitask_strategy: 'enqueue' });

    expect(first).toMatchObject({ type: 'success', result: { run_id: expect.any(String) } });
    const numbers = [first, second, third].map(({ meta }) => meta?.applied_through_seq ?? 0);
    expect(numbers).toEqual([2 ** 33 - 1, 2 * 2 ** 33 - 1, 3 * 2 ** 33 - 1]);
  });

  test('while a run is under way gives the message to that run, unless a strategy is named', async () => {
    const threadId = randomUUID();
    const first = await start(threadId);
    await fixture.claim(threadId);

    expect(await start(threadId)).toMatchObject({ type: 'success', result: first.result });
    expect(await start(threadId, { multitask_strategy: 'reject' })).toMatchObject({ error: 'invalid_argument' });
    expect(await start(threadId, { multitaskStrategy: 'enqueue' })).toMatchObject({ type: 'success' });
  });

  test('with an Idempotency-Key starts one run however often it is sent', async () => {
    const threadId = randomUUID();
    const command = { id: 1, method: 'run.start', params: { assistant_id: 'lead_agent', input: human('once') } };
    const url = `${fixture.urlOf(0)}/threads/${threadId}/commands`;
    const headers = { 'idempotency-key': randomUUID() };

    const replies = [
      await post(url, command, headers),
      await post(url.replace(fixture.urlOf(0), fixture.urlOf(1)), command, headers),
    ];

    const [one, other] = await Promise.all(replies.map(async (reply) => (await reply.json()) as Reply));
    expect(other?.result).toEqual(one?.result);
  });
});

describe('input.inject', () => {
  test('gives the message to the run that is under way', async () => {
    const threadId = randomUUID();
    await start(threadId);
    const owner = await fixture.claim(threadId);

    const reply = await send(threadId, 'input.inject', {
      namespace: [],
      message: { role: 'user', content: 'and this' },
    });

    expect(reply).toMatchObject({ type: 'success', result: {} });
    await owner.finish('error');
    const next = await start(threadId);
    expect(next).toMatchObject({ type: 'success' });
    const claimed = await fixture.runs.claim({ userId: 'default', threadId }, 'another');
    expect(claimed).toMatchObject({ kind: 'run', waiting: [{ message: { content: 'and this' } }] });
  });
});

describe('refusals', () => {
  test.each([
    ['run.start', {}, 'invalid_argument', 'assistant_id: '],
    ['run.start', { assistant_id: 'lead_agent', input: 'hi' }, 'invalid_argument', 'input: '],
    ['run.start', { assistant_id: 'no agent!', input: null }, 'invalid_argument', 'there is no assistant'],
    ['run.start', { assistant_id: 'lead_agent', feedback_keys: ['x'] }, 'invalid_argument', 'feedback_keys: '],
    [
      'run.start',
      { assistant_id: 'lead_agent', langsmith_tracer: { project_name: 'x' } },
      'not_supported',
      'langsmith_tracer',
    ],
    ['input.respond', { interrupt_id: 'a', response: 1, responses: [] }, 'invalid_argument', 'responses: '],
    ['input.respond', {}, 'invalid_argument', 'either interrupt_id'],
    ['input.respond', { namespace: [], interrupt_id: 'a', response: 1 }, 'no_such_interrupt', 'interrupt a'],
    ['input.respond', { interrupt_id: '0'.repeat(32), response: 1 }, 'no_such_interrupt', 'waits for no answer'],
    ['input.respond', { interrupt_id: '0'.repeat(32), response: 1, goto: 'nowhere' }, 'invalid_argument', 'goto'],
    [
      'input.inject',
      { namespace: [], message: { role: 'assistant', content: 'x' } },
      'invalid_argument',
      'message.role: ',
    ],
    ['input.inject', { namespace: [], message: { role: 'user', content: 'x' } }, 'no_such_run', 'no run'],
    ['input.inject', { namespace: [], message: { role: 'system', content: 'x' } }, 'not_supported', 'message.role'],
    ['input.inject', { namespace: ['tools:x'], message: { role: 'user', content: 'x' } }, 'no_such_namespace', '[]'],
    ['state.get', { namespace: ['tools:x'] }, 'no_such_namespace', 'tools:x'],
    ['state.get', { namespace: 'root' }, 'invalid_argument', 'namespace: '],
    ['state.listCheckpoints', { limit: 101 }, 'invalid_argument', 'limit: '],
    ['state.listCheckpoints', { before: 'x' }, 'invalid_argument', 'before: '],
    ['state.fork', { checkpoint_id: 'x' }, 'no_such_checkpoint', 'x'],
    ['state.fork', { checkpoint_id: '10000000-0000-7000-8000-000000000001' }, 'no_such_checkpoint', '10000000'],
    ['agent.getTree', { run_id: 'x' }, 'no_such_run', 'x'],
    ['subscription.subscribe', { channels: ['values'] }, 'not_supported', 'WebSocket'],
    ['no.such', {}, 'unknown_command', 'no.such'],
    ['constructor', {}, 'unknown_command', 'constructor'],
  ] as const)('%s %j is %s', async (method, params, error, text) => {
    const threadId = randomUUID();
    await turn(threadId);

    const reply = await send(threadId, method, params);

    expect(reply).toMatchObject({ type: 'error', error });
    expect(reply.message).toContain(text);
  });

  test('what is no command is answered without an id', async () => {
    const url = `${fixture.urlOf(0)}/threads/${randomUUID()}/commands`;
    for (const body of [{}, [], 1, { id: -1, method: 'state.get' }, { id: 'x', method: 'state.get' }]) {
      const reply = (await (await post(url, body)).json()) as Reply;
      expect(reply).toMatchObject({ type: 'error', id: null, error: 'invalid_argument' });
    }
  });

  test('a thread of another name is not there for any command that reads', async () => {
    const threadId = randomUUID();
    expect(await send(threadId, 'state.listCheckpoints')).toMatchObject({ error: 'invalid_argument' });
    expect(await send(threadId, 'agent.getTree')).toMatchObject({ error: 'no_such_run' });
  });
});

describe('reading a thread', () => {
  test('state.get gives the values that are asked for, and their checkpoint', async () => {
    const threadId = randomUUID();
    await turn(threadId);

    const { result } = await send(threadId, 'state.get', { namespace: [], keys: ['messages', 'nothing'] }, 1);

    expect(result).toEqual({
      values: {
        messages: [expect.objectContaining({ content: 'hi' }), expect.objectContaining({ content: 'Hello.' })],
      },
      checkpoint: { id: expect.any(String) },
    });
  });

  test('state.listCheckpoints pages, and state.fork starts a run from one', async () => {
    const threadId = randomUUID();
    await turn(threadId);
    const first = await send(threadId, 'state.listCheckpoints', { limit: 1 });
    const [newest] = first.result?.['checkpoints'] as { id: string; step: number }[];
    const second = await send(threadId, 'state.listCheckpoints', { limit: 1, before: newest?.id });
    const [input] = second.result?.['checkpoints'] as { id: string; metadata: object }[];
    expect(input).toMatchObject({
      step: 0,
      timestamp: expect.any(String),
      metadata: { source: 'input', next: ['model_request'] },
    });

    const forked = await send(threadId, 'state.fork', { checkpoint_id: input?.id, input: human('again') });

    expect(forked.result).toEqual({ run_id: expect.any(String), thread_id: threadId });
    const runner = await fixture.claim(threadId);
    await runner.finish('success', answerOf('again', 'Again.'));
    const state = await send(threadId, 'state.get', {});
    expect(JSON.stringify(state.result)).toContain('Again.');
  });

  test('agent.getTree shows a run with its status', async () => {
    const threadId = randomUUID();
    const runId = await turn(threadId);
    await start(threadId);

    const current = await send(threadId, 'agent.getTree');
    const named = await send(threadId, 'agent.getTree', { run_id: runId });

    expect(current.result).toMatchObject({ tree: { namespace: [], status: 'started', graph_name: 'lead_agent' } });
    expect(named.result).toMatchObject({ tree: { status: 'completed', metadata: { run_id: runId }, children: [] } });
  });
});

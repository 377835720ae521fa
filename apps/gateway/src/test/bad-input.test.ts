import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const NOBODY = '00000000-0000-4000-8000-000000000000';
const CHECKPOINT = '01a2008c-ecf5-73c0-87a0-5a76eb8c5b3f';

describe('what clients do wrong', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let threadId: string;

  const inject = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const body =
      payload === undefined ? {} : { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) };
    const type = payload === undefined ? {} : { 'content-type': 'application/json' };
    return await gateway.app.inject({ method, url, ...body, headers: { ...type, ...headers } });
  };
  const run = (more: object = {}) => ({
    assistant_id: 'lead_agent',
    input: { messages: [{ role: 'user', content: 'hi' }] },
    ...more,
  });
  const stored = async (): Promise<unknown> => [
    (await inject('POST', '/api/threads/count', {})).json(),
    (await inject('GET', `/api/threads/${threadId}/runs`)).json(),
    (await inject('GET', `/api/threads/${threadId}/state`)).json(),
  ];

  beforeAll(async () => {
    gateway = await fixture.open({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } });
    threadId = (await inject('POST', '/api/threads', {})).json<{ thread_id: string }>().thread_id;
  }, 30_000);

  const deep = (levels: number): string =>
    `{"assistant_id":"lead_agent","input":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;
  const runs = (): string => `/api/threads/${threadId}/runs`;

  test.each<[string, number, string, () => Promise<{ statusCode: number; body: string }>]>([
    ['an unknown thread', 404, 'does not exist', () => inject('GET', `/api/threads/${NOBODY}`)],
    ['the state of an unknown thread', 404, 'does not exist', () => inject('GET', `/api/threads/${NOBODY}/state`)],
    [
      'the history of an unknown thread',
      404,
      'does not exist',
      () => inject('POST', `/api/threads/${NOBODY}/history`, {}),
    ],
    ['a run on an unknown thread', 404, 'does not exist', () => inject('POST', `/api/threads/${NOBODY}/runs`, run())],
    [
      'a stream on an unknown thread',
      404,
      'does not exist',
      () => inject('POST', `/api/threads/${NOBODY}/runs/stream`, run()),
    ],
    ['deleting an unknown thread', 404, 'does not exist', () => inject('DELETE', `/api/threads/${NOBODY}`)],
    ['copying an unknown thread', 404, 'does not exist', () => inject('POST', `/api/threads/${NOBODY}/copy`)],
    ['an unknown run', 404, 'does not exist', () => inject('GET', `${runs()}/${NOBODY}`)],
    ['cancelling an unknown run', 404, 'does not exist', () => inject('POST', `${runs()}/${NOBODY}/cancel?wait=1`)],
    ['joining an unknown run', 404, 'does not exist', () => inject('GET', `${runs()}/${NOBODY}/join`)],
    ['the stream of an unknown run', 404, 'does not exist', () => inject('GET', `${runs()}/${NOBODY}/stream`)],
    ['an unknown assistant', 404, 'no assistant', () => inject('POST', runs(), run({ assistant_id: 'nope' }))],
    ['an unknown assistant by id', 404, 'no assistant', () => inject('GET', `/api/assistants/${NOBODY}`)],
    ['an unknown model', 422, 'no model', () => inject('POST', runs(), run({ context: { model_name: 'nope' } }))],
    ['an unknown checkpoint', 404, 'does not exist', () => inject('POST', runs(), run({ checkpoint_id: CHECKPOINT }))],
    [
      'the state at an unknown checkpoint',
      404,
      'does not exist',
      () => inject('GET', `/api/threads/${threadId}/state/${CHECKPOINT}`),
    ],
    ['a checkpoint id that is none', 422, 'checkpoint', () => inject('GET', `/api/threads/${threadId}/state/nope`)],
    ['a bad cursor', 422, 'before', () => inject('POST', `/api/threads/${threadId}/history`, { before: 'nope' })],
    ['a bad limit', 422, 'limit', () => inject('POST', '/api/threads/search', { limit: -1 })],
    ['malformed JSON', 422, 'not valid JSON', () => inject('POST', runs(), '{"assistant_id":')],
    ['a body that is no object', 422, 'body', () => inject('POST', runs(), '[]')],
    ['no body', 422, 'body', () => inject('POST', runs())],
    [
      'another content type',
      415,
      'application/json',
      () => inject('POST', runs(), 'a=1', { 'content-type': 'text/plain' }),
    ],
    [
      'a form',
      415,
      'application/json',
      () => inject('POST', runs(), 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }),
    ],
    ['deep nesting', 422, 'nested deeper', () => inject('POST', runs(), deep(101))],
    ['nesting that would break the stack', 422, 'nested deeper', () => inject('POST', runs(), deep(100_000))],
    [
      'a body over the limit',
      413,
      'larger',
      () => inject('POST', runs(), run({ metadata: { a: 'x'.repeat(21 * 1024 * 1024) } })),
    ],
    ...['', '/wait', '/stream'].map((way): [string, number, string, () => ReturnType<typeof inject>] => [
      `the deletion of a named thread with its run: runs${way}`,
      422,
      'on_completion',
      () => inject('POST', `${runs()}${way}`, run({ on_completion: 'delete' })),
    ]),
    [
      'the same of one that configurable names',
      422,
      'on_completion',
      () =>
        inject(
          'POST',
          '/api/runs',
          run({ on_completion: 'delete', config: { configurable: { thread_id: threadId } } }),
        ),
    ],
    ['an unknown stream mode', 422, 'stream_mode', () => inject('POST', runs(), run({ stream_mode: ['nope'] }))],
    [
      'an unknown strategy',
      422,
      'multitask_strategy',
      () => inject('POST', runs(), run({ multitask_strategy: 'bogus' })),
    ],
    ['a command beside an input', 422, 'not both', () => inject('POST', runs(), run({ command: { resume: 1 } }))],
    [
      'a command for an unknown node',
      422,
      'must be one of',
      () => inject('POST', runs(), run({ command: { goto: 'x' } })),
    ],
    [
      'a message of the model',
      422,
      'written by the server only',
      () => inject('POST', runs(), run({ input: { messages: [{ type: 'ai', content: 'x' }] } })),
    ],
    [
      'a tool message',
      422,
      'must answer an open call',
      () => inject('POST', runs(), run({ input: { messages: [{ role: 'tool', content: 'x', tool_call_id: 'y' }] } })),
    ],
    [
      'a removal of a message that is not there',
      422,
      'no message with this id',
      () =>
        inject('POST', `/api/threads/${threadId}/state`, {
          values: { messages: [{ type: 'remove', id: 'nothing' }] },
        }),
    ],
    [
      'a message without content',
      422,
      'content',
      () => inject('POST', runs(), run({ input: { messages: [{ type: 'human' }] } })),
    ],
    [
      'a server-owned channel as input',
      422,
      'server only',
      () => inject('POST', runs(), run({ input: { sandbox: { sandbox_id: 'x', driver: 'bwrap' } } })),
    ],
    [
      'a server-owned channel as state',
      422,
      'server only',
      () => inject('POST', `/api/threads/${threadId}/state`, { values: { thread_data: {} } }),
    ],
    [
      'a channel there is not',
      422,
      'is not a channel',
      () => inject('POST', `/api/threads/${threadId}/state`, { values: { nope: 1 } }),
    ],
    ['a thread id with dots', 422, 'thread_id', () => inject('GET', '/api/threads/a.b')],
    ['a thread id with a wildcard', 422, 'thread_id', () => inject('GET', '/api/threads/*')],
    ['a thread id with a NUL', 422, 'thread_id', () => inject('GET', '/api/threads/a%00b')],
    ['a thread id with control characters', 422, 'thread_id', () => inject('GET', '/api/threads/a%0d%0ab')],
    [
      'a new thread with a wildcard as its id',
      422,
      'thread_id',
      () => inject('POST', '/api/threads', { thread_id: '>' }),
    ],
    [
      'a new thread with 10 kB as its id',
      422,
      'thread_id',
      () => inject('POST', '/api/threads', { thread_id: 'a'.repeat(10_240) }),
    ],
    ['a thread id of 10 kB', 422, 'thread_id', () => inject('GET', `/api/threads/${'a'.repeat(10_240)}`)],
    ['a run id that is none', 422, 'run_id', () => inject('GET', `${runs()}/nope`)],
    [
      'a stateless run on a thread id that is none',
      422,
      'thread_id',
      () => inject('POST', '/api/runs', run({ config: { configurable: { thread_id: 'a.b' } } })),
    ],
    ['an URL that is none', 400, 'url', () => inject('GET', '/api/threads/%zz')],
    ['a path there is not', 404, 'does not know this path', () => inject('GET', '/api/nothing')],
    [
      'a message id with control characters',
      422,
      'control',
      () => inject('POST', runs(), run({ input: { messages: [{ type: 'human', content: 'x', id: 'a\u0000' }] } })),
    ],
    [
      'an Idempotency-Key that is none',
      422,
      'Idempotency-Key',
      () => inject('POST', runs(), run(), { 'idempotency-key': 'x'.repeat(300) }),
    ],
    [
      'an existing thread with if_exists raise',
      409,
      'exists',
      () => inject('POST', '/api/threads', { thread_id: threadId, if_exists: 'raise' }),
    ],
    [
      'a batch with one bad part',
      404,
      'no assistant',
      () => inject('POST', '/api/runs/batch', [run(), run({ assistant_id: 'nope' })]),
    ],
  ])('%s is %i, in words, and nothing is stored', async (_name, status, words, act) => {
    const before = await stored();
    const response = await act();

    expect(response.statusCode).toBe(status);
    const { detail } = JSON.parse(response.body) as { detail: unknown };
    expect(detail).toEqual(expect.stringContaining(words));
    expect(response.body).not.toMatch(/\n\s+at |node_modules|\.ts:/);
    expect(await stored()).toEqual(before);
    expect(fixture.faults).toEqual([]);
  });

  test('prototype keys are harmless', async () => {
    const body =
      '{"metadata":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"\\u005f_proto__":{"polluted":1},"a":1}}';
    const response = await inject('POST', '/api/threads', body);

    expect(response.statusCode).toBe(200);
    expect(response.json<{ metadata: object }>().metadata).toMatchObject({ a: 1 });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(response.body).not.toContain('__proto__');
  });

  test('a message of 1 MB is taken and comes back whole', async () => {
    const content = 'é'.repeat(512 * 1024);
    const { thread_id: other } = (await inject('POST', '/api/threads', {})).json<{ thread_id: string }>();
    const answer = await inject('POST', `/api/threads/${other}/state`, {
      values: { messages: [{ type: 'human', content }] },
    });
    const state = (await inject('GET', `/api/threads/${other}/state`)).json<{
      values: { messages: { content: string }[] };
    }>();

    expect(answer.statusCode).toBe(200);
    expect(state.values.messages[0]?.content === content).toBe(true);
  });
});

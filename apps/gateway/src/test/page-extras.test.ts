import { ModelError, newId } from '@caribou/contracts';
import { type ModelCatalog, type ModelPort } from '@caribou/core';
import { type ScriptedAnswer, scriptedModel, waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { NO_ENV_MODEL, useGateways } from '../testing/gateway-fixture.js';

const CONFIG = `
models:
  - name: big
    display_name: Big One
    model: vendor/big
    api_key: sk-secret
    base_url: https://models.example.org/v1
    default_headers: {x-team: secret-team}
    supports_thinking: true
    supports_reasoning_effort: true
    pricing: {input: 4, cached_input: 0.4, output: 20}
  - name: small
    api_key: sk-secret-two
token_usage: {enabled: false}
suggestions: {max_suggestions: 4, timeout_ms: 300}
`;
const BIG_PRICES = { currency: 'USD', input: 4, cached_input: 0.4, cache_write: 4, output: 20, reasoning: 20 };
const TALK = { messages: [{ role: 'user', content: 'How high is K2?' }] };

const fixture = useGateways();
let gateway: OpenGateway;
let model: ModelPort;
const asked: (string | undefined)[] = [];
const models: ModelCatalog = {
  names: ['big'],
  get: (name) => {
    asked.push(name);
    return model;
  },
};

beforeAll(async () => {
  const env = { ...NO_ENV_MODEL, CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' };
  gateway = await fixture.open({ config: CONFIG, env, replaced: { models } });
}, 30_000);

const get = (path: string, root = '/api') =>
  gateway.app.inject({ url: `${root}${path}`, headers: { 'x-api-key': 'alice-key-1' } });
const post = (path: string, payload: object, key = 'alice-key-1') =>
  gateway.app.inject({ method: 'POST', url: `/api${path}`, payload, headers: { 'x-api-key': key } });

describe('GET /models', () => {
  test('lists what runs can ask for, the default first, and nothing that is the operator’s', async () => {
    for (const root of ['/api', '/api/langgraph']) {
      const reply = await get('/models', root);
      expect(reply.json<unknown>()).toEqual({
        models: [
          {
            id: 'big',
            name: 'big',
            model: 'vendor/big',
            display_name: 'Big One',
            description: null,
            supports_thinking: true,
            supports_reasoning_effort: true,
            supports_vision: false,
            pricing: BIG_PRICES,
          },
          {
            id: 'small',
            name: 'small',
            model: 'small',
            display_name: 'small',
            description: null,
            supports_thinking: false,
            supports_reasoning_effort: false,
            supports_vision: false,
            pricing: null,
          },
        ],
        token_usage: { enabled: false },
      });
      expect(reply.body).not.toMatch(/secret|example\.org/);
    }
  });

  test('gives one by its name, and 404 for another', async () => {
    expect((await get('/models/big')).json<unknown>()).toMatchObject({
      name: 'big',
      display_name: 'Big One',
      pricing: BIG_PRICES,
    });
    const missing = await get('/models/nope');
    expect([missing.statusCode, missing.json()]).toEqual([404, { detail: 'there is no model "nope"' }]);
  });
});

test('what is not here says that it is off, or that there is none', async () => {
  const { thread_id: thread } = (await post('/threads', {})).json<{ thread_id: string }>();
  const answers = await Promise.all(
    [
      '/channels/providers',
      '/channels/connections',
      '/scheduled-tasks',
      `/threads/${thread}/scheduled-tasks`,
      `/threads/${thread}/mcp-tasks`,
    ]
      .concat(`/threads/${thread}/goal`, '/features')
      .map(async (path) => (await get(path)).json<unknown>()),
  );

  const none = [{ enabled: false, providers: [] }, { connections: [] }, [], [], [], { goal: null }];
  expect(answers.slice(0, 6)).toEqual(none);
  const { run_id: run } = (await post(`/threads/${thread}/runs`, { assistant_id: 'lead_agent', input: {} })).json<{
    run_id: string;
  }>();
  const changes = (id: string) => get(`/threads/${thread}/runs/${id}/workspace-changes?include_files=true`);
  expect((await changes(run)).json<unknown>()).toEqual({ available: false });
  expect((await changes(newId())).statusCode).toBe(404);
  const files = await get(`/threads/${thread}/files`);
  expect([files.statusCode, files.json()]).toEqual([
    403,
    { detail: 'files have no history here: config.yaml has no section files (docs/files.md)' },
  ]);
  expect(answers[6]).toMatchObject({ browser_control: { enabled: false }, mcp_tasks: { enabled: false } });
});

describe('POST /threads/:thread_id/suggestions', () => {
  let threadId: string;
  beforeAll(async () => {
    threadId = (await post('/threads', {})).json<{ thread_id: string }>().thread_id;
  });
  const answering = (answer: ScriptedAnswer): void => {
    model = scriptedModel([answer]);
  };
  const suggest = async (body: object = TALK): Promise<unknown> => {
    const reply = await post(`/threads/${threadId}/suggestions`, body);
    return reply.statusCode === 200 ? reply.json<{ suggestions: unknown }>().suggestions : reply.statusCode;
  };

  test('the configuration says how many at most, whatever is asked for', async () => {
    expect((await get('/suggestions/config')).json<unknown>()).toEqual({ enabled: true, max_suggestions: 4 });
    answering({ content: ['["a?", "b?",', ' "c?", "d?", "e?"]'] });

    expect(await suggest({ ...TALK, n: 5, model_name: 'small' })).toEqual(['a?', 'b?', 'c?', 'd?']);
    expect(await suggest({ ...TALK, n: 2 })).toEqual(['a?', 'b?']);
    expect(asked.slice(-2)).toEqual(['small', undefined]);
  });

  test.each<[string, ScriptedAnswer]>([
    ['the model fails', { error: new ModelError('refused', { details: { reason: 'bad_request' } }) }],
    ['the model breaks off', { content: ['["a?"'], cutAfter: 1 }],
    ['the model says something else', { content: 'No.' }],
    ['the model says too much', { content: 'x'.repeat(30_000) }],
    ['the model takes too long', { content: '["a?"]', holdBefore: { delta: 0, until: new Promise(() => undefined) } }],
  ])('%s: none are proposed', async (_what, answer) => {
    answering(answer);

    expect(await suggest()).toEqual([]);
  });

  test('a user with two calls under way gets none, and others still do', async () => {
    let release: (() => void) | undefined;
    const until = new Promise<void>((done) => (release = done));
    const held = scriptedModel([{ content: '["a?"]', holdBefore: { delta: 0, until } }]);
    model = held;
    const first = [suggest(), suggest()];
    await waitFor(() => Promise.resolve(held.calls.length === 2), { what: 'two calls' });

    expect(await suggest()).toEqual([]);
    expect(held.calls).toHaveLength(2);
    release?.();
    expect(await Promise.all(first)).toEqual([['a?'], ['a?']]);
    answering({ content: '["b?"]' });
    expect(await suggest()).toEqual(['b?']);
  });

  test('a thread that is not there, or is not yours, is a 404, and bad input a 422', async () => {
    answering({ content: '["a?"]' });
    const statuses = await Promise.all([
      post(`/threads/${newId()}/suggestions`, TALK),
      post(`/threads/${threadId}/suggestions`, TALK, 'bob-key-123'),
      post(`/threads/${threadId}/suggestions`, { ...TALK, n: 6 }),
      post(`/threads/${threadId}/suggestions`, { messages: [{ role: 'tool', content: 'x' }] }),
    ]);

    expect(statuses.map(({ statusCode }) => statusCode)).toEqual([404, 404, 422, 422]);
  });
});

import { type AgentReply, NO_MODEL_SETTINGS } from '@caribou/contracts';
import type { OpenGateway } from '../open-gateway.js';
import { NO_ENV_MODEL, useGateways } from '../testing/gateway-fixture.js';

const CONFIG = `models:
  - {name: m1, api_key: unused}
  - {name: seeing, api_key: unused, supports_vision: true}
tool_groups: [{name: shop}]
`;
const KEYS = { alice: 'alice-key-1', bob: 'bob-key-123' };

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;
let closed: OpenGateway;
/** Of a configuration with one model less. */
let fewer: OpenGateway;

beforeAll(async () => {
  const env = { ...NO_ENV_MODEL, CARIBOU_API_KEYS: `${KEYS.alice}:alice,${KEYS.bob}:bob` };
  gateway = await fixture.open({ config: CONFIG, env });
  fewer = await fixture.open({ config: 'models: [{name: m1, api_key: unused}]\n', env });
  closed = await fixture.open({ config: `${CONFIG}agents_api: {enabled: false}\n`, env });
}, 30_000);
afterEach(() => expect(fixture.faults.splice(0)).toEqual([]));

const times = { created_at: expect.any(String), updated_at: expect.any(String) };

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
interface Asked {
  readonly user?: keyof typeof KEYS;
  readonly at?: OpenGateway;
}

async function ask<Body = Record<string, unknown>>(
  method: Method,
  url: string,
  body?: unknown,
  { user = 'alice', at = gateway }: Asked = {},
) {
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const headers = { 'x-api-key': KEYS[user], ...type };
  const reply = await at.app.inject({ method, url: `/api${url}`, headers, ...payload });
  return { status: reply.statusCode, body: (reply.body === '' ? undefined : reply.json()) as Body };
}
const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status;
const make = (name: string, more: object = {}) => ask<AgentReply>('POST', '/agents', { name, ...more });

describe('custom agents over HTTP', () => {
  test('one is made, listed without its soul, read with it, and is nobody else’s', async () => {
    const given = {
      description: 'rhymes',
      model: 'seeing',
      tool_groups: ['shop', 'web'],
      skills: [],
      model_settings: { temperature: 0.2, max_tokens: 300 },
      thinking_enabled: false,
      reasoning_effort: 'low',
      approvals: [{ id: 'shop', tools: ['shop_*'], decider: 'admin' }],
      soul: 'You rhyme.',
    };
    const made = await make('Poet', given);

    expect(made).toEqual({
      status: 201,
      body: { ...given, name: 'poet', version: expect.any(Number), ...times },
    });
    expect(await ask('GET', '/agents/POET')).toEqual({ status: 200, body: made.body });
    expect(await ask('GET', '/langgraph/agents')).toEqual({
      status: 200,
      body: { agents: [{ ...made.body, soul: null }] },
    });
    expect((await ask('GET', '/agents', undefined, { user: 'bob' })).body).toEqual({ agents: [] });
    for (const method of ['GET', 'PUT', 'DELETE'] as const)
      expect(await statusOf(method, '/agents/poet', method === 'PUT' ? {} : undefined, { user: 'bob' })).toBe(404);
    expect(await make('poet')).toMatchObject({
      status: 409,
      body: { detail: 'name: there is an agent "poet" already' },
    });
    expect(await statusOf('POST', '/agents', { name: 'poet' }, { user: 'bob' })).toBe(201);
  });

  test('what is left out, or null, is the default', async () => {
    const nothing = {
      description: null,
      model: null,
      tool_groups: null,
      skills: null,
      soul: null,
      ...NO_MODEL_SETTINGS,
    };
    for (const [name, more] of [
      ['plain', {}],
      ['plain-2', nothing],
    ] as const)
      expect((await make(name, more)).body).toMatchObject({ ...nothing, description: '', soul: '' });
  });

  test('a name is told to be free, taken or none', async () => {
    await make('taken');
    const check = (name: string) => ask('GET', `/agents/check?name=${name}`);
    expect((await check('Free')).body).toEqual({ available: true, name: 'free' });
    for (const name of ['taken', 'TAKEN', 'lead-agent', 'check', 'new'])
      expect((await check(name)).body).toEqual({ available: false, name: name.toLowerCase() });
    for (const name of ['', 'a b', 'a_b', '..', 'x'.repeat(65)]) expect((await check(name)).status).toBe(422);
    expect(await statusOf('GET', '/agents/check')).toBe(422);
  });

  test.each<[object, string]>([
    [{ name: 'lead-agent' }, 'name: is reserved'],
    [{ name: 'a/b' }, 'name: must be 1 to 64'],
    [{}, 'name: '],
    [{ name: 'x', model: 'gone' }, 'model: there is no model "gone"; models: m1, seeing'],
    [
      { name: 'x', tool_groups: ['gone'] },
      'tool_groups: there is no group "gone"; groups: bash, file:read, file:write',
    ],
    [{ name: 'x', model_settings: { temperature: 3 } }, 'model_settings.temperature: '],
    [{ name: 'x', model_settings: { top_p: 1 } }, 'top_p'],
    [{ name: 'x', reasoning_effort: 'huge' }, 'reasoning_effort: '],
    [{ name: 'x', approvals: [{ id: 'y', decider: 'admin' }] }, 'approvals.0: must have one of tools'],
    [{ name: 'x', skills: ['No Skill'] }, 'skills.0: must be lower-case'],
    [{ name: 'x', soul: 'x'.repeat(32_001) }, 'soul: must have at most 32000 characters'],
    [{ name: 'x', description: 'x'.repeat(1_001) }, 'description: must have at most 1000 characters'],
  ])('%# is refused with its field', async (body, detail) => {
    expect(await ask('POST', '/agents', body)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining(detail) },
    });
    expect(await statusOf('GET', '/agents/x')).toBe(404);
  });

  test('a change keeps what it does not name, and two editors lose nothing of each other silently', async () => {
    const { body: made } = await make('edited', { soul: 'A', model: 'm1', skills: ['deep-research'] });
    const put = (body: object) => ask<AgentReply>('PUT', '/agents/edited', body);
    const changes = [
      { soul: 'B' },
      { description: 'C' },
      { model_settings: { temperature: 0 } },
      { model: null },
      { tool_groups: ['web'] },
    ];
    expect((await Promise.all(changes.map(put))).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const { body: now } = await ask<AgentReply>('GET', '/agents/edited');
    expect(now).toMatchObject({
      soul: 'B',
      description: 'C',
      model: null,
      tool_groups: ['web'],
      skills: ['deep-research'],
      model_settings: { temperature: 0, max_tokens: null },
    });

    expect(await put({ soul: 'old', version: made.version })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('changed meanwhile') },
    });
    expect((await put({ soul: 'new', version: now.version })).body.soul).toBe('new');
    expect((await put({ model: 'gone' })).status).toBe(422);
    expect((await ask('PUT', '/agents/nobody', { soul: 'x' })).status).toBe(404);
    expect((await ask<AgentReply>('GET', '/agents/edited')).body).toMatchObject({
      soul: 'new',
      created_at: made.created_at,
    });
  });

  test('one whose model is not configured any more can still be changed', async () => {
    await make('outlived', { model: 'seeing' });
    const at = fewer;
    expect(await ask('PUT', '/agents/outlived', { soul: 'A' }, { at })).toMatchObject({
      status: 200,
      body: { soul: 'A', model: 'seeing' },
    });
    expect(await statusOf('PUT', '/agents/outlived', { model: 'seeing' }, { at })).toBe(422);
  });

  test('a deleted one is gone with what it remembers; what others remember stays', async () => {
    await make('forgetful');
    for (const agent of ['forgetful', 'lead_agent'])
      await ask('POST', `/memory/facts?agent=${agent}`, { content: `Told ${agent}.`, confidence: 1 });

    expect(await ask('DELETE', '/agents/forgetful')).toEqual({ status: 204, body: undefined });
    expect(await statusOf('GET', '/agents/forgetful')).toBe(404);
    expect(await statusOf('DELETE', '/agents/forgetful')).toBe(404);
    await make('forgetful');
    expect((await ask('GET', '/memory?agent=forgetful')).body).toMatchObject({ facts: [] });
    expect((await ask('GET', '/memory')).body).toMatchObject({ facts: [{ content: 'Told lead_agent.' }] });
  });

  test('what a person says of themselves is kept for them alone', async () => {
    expect((await ask('GET', '/user-profile')).body).toEqual({ content: null });
    expect(await ask('PUT', '/user-profile', { content: 'I sail.' })).toEqual({
      status: 200,
      body: { content: 'I sail.' },
    });
    expect((await ask('GET', '/user-profile')).body).toEqual({ content: 'I sail.' });
    expect((await ask('GET', '/user-profile', undefined, { user: 'bob' })).body).toEqual({ content: null });
    expect(await statusOf('PUT', '/user-profile', { content: 'x'.repeat(8_001) })).toBe(422);
    expect((await ask('PUT', '/user-profile', { content: '' })).body).toEqual({ content: null });
  });
});

describe('what stands for a custom agent elsewhere', () => {
  beforeAll(() => make('guide', { model: 'seeing', description: 'shows the way' }));

  test('assistants: the lead agent and those of the caller', async () => {
    const names = async (user: keyof typeof KEYS, body = {}) =>
      (await ask<{ name: string }[]>('POST', '/assistants/search', { limit: 100, ...body }, { user })).body.map(
        ({ name }) => name,
      );
    expect(await names('alice')).toEqual(expect.arrayContaining(['lead_agent', 'guide']));
    expect(await names('bob')).not.toContain('guide');
    expect(await names('alice', { name: 'guid' })).toEqual(['guide']);
    expect((await ask('GET', '/assistants/guide')).body).toMatchObject({
      assistant_id: 'guide',
      graph_id: 'lead_agent',
      description: 'shows the way',
      metadata: { created_by: 'user' },
    });
    for (const part of ['', '/graph', '/schemas']) {
      expect(await statusOf('GET', `/assistants/guide${part}`)).toBe(200);
      expect(await statusOf('GET', `/assistants/guide${part}`, undefined, { user: 'bob' })).toBe(404);
    }
  });

  test('its chain is the one of its model', async () => {
    expect((await ask('GET', '/agents/Guide/chain')).body).toMatchObject({
      agent: 'guide',
      switches: { model_name: 'seeing', vision: true },
    });
    expect((await ask('GET', '/agents/guide/chain?model_name=m1')).body).toMatchObject({ switches: { vision: false } });
  });

  const run = (body: object, asked: Asked = {}) =>
    ask<{ detail?: string; kwargs: { context?: Record<string, unknown> } }>(
      'POST',
      '/runs',
      { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'hi' }] }, ...body },
      asked,
    );

  test('a run may name it by assistant or context, the context first', async () => {
    await make('other');
    for (const [body, name] of [
      [{ assistant_id: 'Guide' }, 'guide'],
      [{ context: { agent_name: 'GUIDE' } }, 'guide'],
      [{ assistant_id: 'guide', config: { configurable: { agent_name: 'other' } } }, 'other'],
    ] as const) {
      const { status, body: reply } = await run(body);
      expect([status, JSON.stringify(reply.kwargs)]).toEqual([200, expect.stringContaining(`"agent_name":"${name}"`)]);
    }
  });

  test('a run for one that is not there is refused; one that makes it is not', async () => {
    expect(await run({ assistant_id: 'no_body' })).toMatchObject({
      status: 404,
      body: { detail: expect.stringMatching(/no assistant "no_body"/) },
    });
    expect(await run({ context: { agent_name: 'no-body' } })).toMatchObject({
      status: 422,
      body: { detail: 'context.agent_name: there is no agent "no-body"' },
    });
    expect((await run({ assistant_id: 'guide' }, { user: 'bob' })).status).toBe(404);
    expect((await run({ context: { agent_name: 'guide' } }, { user: 'bob' })).status).toBe(422);
    expect((await run({ context: { agent_name: 'no-body', is_bootstrap: true } })).status).toBe(200);
    expect((await run({ context: { is_bootstrap: true } })).status).toBe(200);
    expect(await run({ context: { agent_name: 'check', is_bootstrap: true } })).toMatchObject({ status: 422 });
  });

  test('switched off, nothing is made or changed, and those there are go on', async () => {
    const off = { at: closed };
    for (const [method, url, body] of [
      ['GET', '/agents'],
      ['GET', '/agents/guide'],
      ['GET', '/agents/check?name=x'],
      ['POST', '/agents', { name: 'x' }],
      ['PUT', '/agents/guide', { soul: 'x' }],
      ['DELETE', '/agents/guide'],
      ['GET', '/user-profile'],
      ['PUT', '/user-profile', { content: 'x' }],
    ] as const)
      expect([url, await ask(method, url, body, off)]).toMatchObject([
        url,
        { status: 403, body: { detail: expect.stringMatching(/agents_api/) } },
      ]);
    expect((await run({ context: { is_bootstrap: true } }, off)).status).toBe(403);
    expect((await run({ assistant_id: 'guide' }, off)).status).toBe(200);
    expect((await ask('GET', '/agents/guide')).body).toMatchObject({ soul: '' });
  });
});

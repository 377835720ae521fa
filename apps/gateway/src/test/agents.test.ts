import type { ChainReply } from '@caribou/contracts';
import type { OpenGateway } from '../open-gateway.js';
import { NO_ENV_MODEL, useGateways } from '../testing/gateway-fixture.js';

const CONFIG = `models:
  - name: reading
    api_key: unused
  - name: seeing
    api_key: unused
    supports_vision: true
title:
  enabled: false
extensions:
  middlewares: [./not-loaded-here.mjs#audit]
`;

describe('the chain over HTTP', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;

  beforeAll(async () => {
    gateway = await fixture.open({ config: CONFIG, env: NO_ENV_MODEL });
  }, 30_000);

  const chain = async (query = ''): Promise<ChainReply> => {
    const reply = await gateway.app.inject({ method: 'GET', url: `/api/agents/lead_agent/chain${query}` });
    expect(reply.statusCode).toBe(200);
    return reply.json<ChainReply>();
  };
  const absentOf = ({ middlewares }: ChainReply, name: string) =>
    middlewares.find((place) => place.name === name)?.absent;

  test('the places stand in order, each with its reason and why it is left out', async () => {
    const reply = await chain();
    const names = reply.middlewares.map(({ name }) => name);

    expect(reply.agent).toBe('lead_agent');
    expect(names.indexOf('thread-data')).toBeLessThan(names.indexOf('uploads'));
    expect(names.at(-1)).toBe('clarification');
    expect(reply.middlewares.every(({ reason }) => reason !== '')).toBe(true);
    expect([absentOf(reply, 'title'), absentOf(reply, 'view-image'), absentOf(reply, 'llm-error')]).toEqual([
      'title.enabled is false',
      'the model does not read images',
      null,
    ]);
    expect(absentOf(reply, 'custom')).toBeNull();
    expect(JSON.stringify(reply)).not.toContain('not-loaded-here');
    expect(reply.subagent_middlewares.find(({ name }) => name === 'uploads')?.active).toBe(false);
  });

  test('switches of a request are followed, and limits clamped as for a run', async () => {
    const query = '?model_name=seeing&is_plan_mode=true&subagent_enabled=1&max_concurrent_subagents=9';
    const reply = await chain(query);

    expect(reply.switches).toEqual({
      model_name: 'seeing',
      vision: true,
      is_plan_mode: true,
      subagent_enabled: true,
      max_concurrent_subagents: 4,
      max_total_subagents: 6,
      clarification: true,
    });
    expect(absentOf(reply, 'view-image')).toBeNull();
  });

  test('an unknown agent is 404, an unknown model or a switch that is none 422', async () => {
    const status = async (url: string) => (await gateway.app.inject({ method: 'GET', url })).statusCode;
    expect(await status('/api/agents/nobody/chain')).toBe(404);
    expect(await status('/api/agents/lead_agent/chain?model_name=nothing')).toBe(422);
    expect(await status('/api/agents/lead_agent/chain?is_plan_mode=perhaps')).toBe(422);
  });
});

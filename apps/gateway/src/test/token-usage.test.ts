import { type AiMessage, newId } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { admission, ai, human } from '@caribou/testing';
import { redisRunStore, redisThreadStore } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { NO_ENV_MODEL, useGateways } from '../testing/gateway-fixture.js';
import { computeContextUsage } from '../threads/token-usage.service.js';

const answer = (tokens: number, more: Partial<AiMessage> = {}): AiMessage => ({
  ...ai('hi'),
  usage_metadata: { input_tokens: tokens - 1, output_tokens: 1, total_tokens: tokens },
  response_metadata: { model_name: 'big' },
  ...more,
});
const big = { name: 'big', model: 'provider/big', maxInputTokens: 1000 };
const small = { name: 'small', model: 'small', maxInputTokens: 100 };

describe(computeContextUsage, () => {
  test('it is of the last answer that has a count, and of the model that gave it', () => {
    const messages = [human('a'), answer(50), human('b'), answer(125), human('c'), ai('no count')];

    expect(computeContextUsage(messages, [small, big])).toEqual({
      token_count: 125,
      max_context_tokens: 1000,
      percentage: 12.5,
    });
  });

  test("the model is found by the provider's name too, and is the default one when unknown", () => {
    const by = (model_name: string) =>
      computeContextUsage([answer(50, { response_metadata: { model_name } })], [small, big])?.max_context_tokens;

    expect(by('provider/big')).toBe(1000);
    expect(by('elsewhere')).toBe(100);
  });

  test('what subagents spent for an answer does not fill the context', () => {
    const spent = { input_tokens: 400, output_tokens: 100, total_tokens: 500 };
    const dispatching = answer(525, { additional_kwargs: { subagent_token_usage: spent } });

    expect(computeContextUsage([dispatching], [big])).toMatchObject({ token_count: 25, percentage: 2.5 });
  });

  test('nothing is told of a thread without a count, or a model without a limit', () => {
    expect(computeContextUsage([human('a'), ai('b')], [big])).toBeUndefined();
    expect(computeContextUsage([answer(5)], [{ name: 'big', model: 'big' }])).toBeUndefined();
    expect(computeContextUsage([answer(5)], [])).toBeUndefined();
  });
});

describe('GET /threads/:thread_id/token-usage', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;

  beforeAll(async () => {
    const config = 'models: [{name: m1, pricing: {currency: EUR, input: 2, cached_input: 0.5, output: 8}}]';
    gateway = await fixture.open({
      config,
      env: { ...NO_ENV_MODEL, CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' },
    });
  }, 30_000);

  const ask = (threadId: string, key = 'alice-key-1', root = '/api') =>
    gateway.app.inject({ url: `${root}/threads/${threadId}/token-usage`, headers: { 'x-api-key': key } });

  /** A run of alice's with one answer. */
  async function spend(threadId: string): Promise<void> {
    const redis = fixture.connectRedis();
    const key = { userId: 'alice', threadId };
    await redisThreadStore(redis).admit(admission(key));
    const runs = redisRunStore(redis);
    const claimed = await runs.claim(key, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const state = applyUpdate(claimed.head.state, { messages: [human('x'), answer(12)] });
    const calls = [
      { caller: 'lead_agent' as const, model: 'm1', inputTokens: 11, cachedInputTokens: 5, outputTokens: 1 },
    ];
    const commit = { head: claimed.head, state, next: [], source: 'loop' as const, step: 1, events: [] };
    await runs.finish(claimed.lease, {
      status: 'success',
      events: [],
      commit: { ...commit, usage: { turns: 1, calls } },
    });
  }

  test('it tells the totals under both roots; they are on the run too', async () => {
    const threadId = newId();
    await spend(threadId);

    for (const root of ['/api', '/api/langgraph']) {
      const reply = await ask(threadId, 'alice-key-1', root);
      expect({ status: reply.statusCode, body: reply.json<unknown>() }).toEqual({
        status: 200,
        body: {
          thread_id: threadId,
          total_tokens: 12,
          total_input_tokens: 11,
          total_output_tokens: 1,
          total_runs: 1,
          // 6 x 2 + 5 x 0.5 + 1 x 8 millionths
          by_model: { m1: { tokens: 12, runs: 1, cost: 0.000_022_5 } },
          by_caller: { lead_agent: 12, subagent: 0, middleware: 0 },
          cost: 0.000_022_5,
          currency: 'EUR',
        },
      });
    }
    const runs = await gateway.app.inject({
      url: `/api/threads/${threadId}/runs`,
      headers: { 'x-api-key': 'alice-key-1' },
    });
    expect(runs.json<unknown>()).toMatchObject([
      { total_tokens: 12, lead_agent_tokens: 12, subagent_tokens: 0, middleware_tokens: 0 },
    ]);
  });

  test('a thread that is not there, or is not yours, is a 404', async () => {
    const threadId = newId();
    await spend(threadId);

    const statuses = await Promise.all([ask(newId()), ask(threadId, 'bob-key-123')]);
    expect(statuses.map(({ statusCode }) => statusCode)).toEqual([404, 404]);
  });

  test('the OpenAPI document has it', async () => {
    const document = (await gateway.app.inject('/openapi.json')).json<{ paths: object }>();

    expect(document.paths).toHaveProperty(['/api/threads/{thread_id}/token-usage', 'get', 'responses', '404']);
  });
});

import { callUsage } from './call-usage.js';
import { billedTokens, costOf } from './call-cost.js';

const PRICE = { input: 2, cachedInput: 0.5, cacheWrite: 2.5, output: 8, reasoning: 10 };
const usage = {
  ...{ input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 },
  input_token_details: { cache_read: 600, cache_creation: 100 },
  output_token_details: { reasoning: 40 },
};
const call = callUsage({ caller: 'lead_agent', model: 'm' }, usage);

describe('callUsage', () => {
  test('reads the details of usage_metadata by the names of LangChain', () => {
    expect(call).toEqual({
      ...{ caller: 'lead_agent', model: 'm', inputTokens: 1_000, outputTokens: 100 },
      ...{ cachedInputTokens: 600, cacheWriteTokens: 100, reasoningTokens: 40 },
    });
  });

  test.each([undefined, null, 'many', { cache_read: '7', cache_creation: -1 }, { cache_read: Number.NaN }])(
    'details %j are left out',
    (input_token_details) => {
      const plain = { input_tokens: 1, output_tokens: 2, total_tokens: 3, input_token_details };
      expect(callUsage({ caller: 'subagent', model: 'm' }, plain)).toEqual({
        ...{ caller: 'subagent', model: 'm', inputTokens: 1, outputTokens: 2 },
      });
    },
  );
});

describe('costOf', () => {
  test('cached input, written cache and reasoning have their own prices, and the rest the general ones', () => {
    // 600 x 0.5 + 100 x 2.5 + 300 x 2 + 40 x 10 + 60 x 8
    expect(costOf(billedTokens(call), PRICE)).toBe(2_030);
  });

  test('parts are never more than the whole, so that no token is paid for twice or less than nothing', () => {
    const odd = { ...call, cachedInputTokens: 900, cacheWriteTokens: 900, reasoningTokens: 900 };
    expect(billedTokens(odd)).toEqual({ input: 1_000, cached: 900, written: 100, output: 100, reasoning: 100 });
    expect(costOf(billedTokens(odd), PRICE)).toBe(900 * 0.5 + 100 * 2.5 + 100 * 10);
  });

  test('numbers that are none count as 0, and large ones are bounded', () => {
    const odd = { ...call, inputTokens: Number.NaN, outputTokens: 1e300, reasoningTokens: -5 };
    expect(billedTokens(odd)).toEqual({ input: 0, cached: 0, written: 0, output: 1e12, reasoning: 0 });
  });
});

import { costOf, pricingOf } from './cost.js';
import { itemOf, usageOf } from './items.js';

const pricing = {
  ...{ currency: 'USD', input: 2, cached_input: 0.5, cache_write: 2.5 },
  ...{ output: 8, reasoning: 10 },
};
const reported = {
  ...{ input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 },
  input_token_details: { cache_read: 600, cache_creation: 100 },
  output_token_details: { reasoning: 40 },
};
const costOfReported = (usage: unknown, ofSubagents?: unknown): number | undefined => {
  const read = usageOf(usage, ofSubagents);
  return read === undefined ? undefined : costOf(read, pricing);
};

describe(costOf, () => {
  test('each part of the tokens has its price', () => {
    // 600 x 0.5 + 100 x 2.5 + 300 x 2 + 40 x 10 + 60 x 8 millionths
    expect(costOfReported(reported)).toBe(0.002_03);
  });

  test('parts are never more than the whole', () => {
    const odd = { input_tokens: 10, output_tokens: 1, input_token_details: { cache_read: 90, cache_creation: 90 } };
    expect(costOfReported(odd)).toBe((10 * 0.5 + 8) / 1e6);
  });

  test('tokens of subagents are not those of the answer, as it is stored', () => {
    const spent = { input_tokens: 700, output_tokens: 50, total_tokens: 750 };
    const answer = itemOf({
      ...{ type: 'ai', id: 'a', content: 'hi', additional_kwargs: { subagent_token_usage: spent } },
      usage_metadata: { input_tokens: 800, output_tokens: 60, total_tokens: 860 },
    });
    if (answer?.kind !== 'answer' || answer.usage === undefined) throw new Error('no answer with usage');
    expect(costOf(answer.usage, pricing)).toBe((100 * 2 + 10 * 8) / 1e6);
  });

  test.each([
    { ...reported, input_tokens: 0, output_tokens: 0 },
    { input_tokens: -5, output_tokens: 'many' },
  ])('%j has no cost, which is not a cost of 0', (usage) => {
    expect(costOfReported(usage)).toBeUndefined();
  });
});

describe(pricingOf, () => {
  const other = { ...pricing, input: 9 };
  const models = [
    { name: 'quick', model: 'vendor/small', pricing },
    { name: 'large', model: 'vendor/small-large', pricing: other },
    { name: 'free', model: 'free', pricing: null },
  ];

  test.each([
    ['quick', pricing],
    ['vendor/small', pricing],
    ['vendor/small-2024-08-06', pricing],
    ['vendor/small-large-20250929', other],
    ['free', undefined],
    ['vendor/small-huge', undefined],
    ['vendor/small2024-08-06', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('of %s', (answered, expected) => {
    expect(pricingOf(models, answered)).toEqual(expected);
  });

  test('models that share a name have a price only when it is the same', () => {
    const twice = (second: typeof pricing | null) => [
      { name: 'a', model: 'm', pricing },
      { name: 'b', model: 'm', pricing: second },
    ];
    expect(pricingOf(twice({ ...pricing }), 'm')).toEqual(pricing);
    expect(pricingOf(twice(other), 'm')).toBeUndefined();
    expect(pricingOf(twice(null), 'm')).toBeUndefined();
    expect(pricingOf(twice(other), 'b')).toEqual(other);
  });
});

import { costOfThread } from './thread-cost.js';

const pricing = { currency: 'EUR', input: 2, cachedInput: 0.5, cacheWrite: 2.5, output: 8, reasoning: 10 };
const models = [{ name: 'free' }, { name: 'paid', pricing }, { name: 'dear', pricing: { ...pricing, input: 20 } }];
const used = (input: number) => ({
  ...{ tokens: input, runs: 1 },
  parts: { ...{ input, cached: 0, written: 0 }, ...{ output: 0, reasoning: 0 } },
});
const withoutParts = { tokens: 10, runs: 1, parts: undefined };

describe(costOfThread, () => {
  test('each part of the tokens has the price of its model', () => {
    const parts = { input: 1_000, cached: 600, written: 100, output: 100, reasoning: 40 };

    expect(costOfThread({ paid: { tokens: 1_100, runs: 2, parts }, dear: used(3) }, models)).toEqual({
      by_model: { paid: { tokens: 1_100, runs: 2, cost: 0.002_03 }, dear: { tokens: 3, runs: 1, cost: 0.000_06 } },
      cost: 0.002_09,
      currency: 'EUR',
    });
  });

  test('models without prices cost nothing, which is no cost when there are no others', () => {
    expect(costOfThread({ free: used(9), paid: used(1) }, models)).toMatchObject({
      by_model: { free: { cost: null }, paid: { cost: 0.000_002 } },
      cost: 0.000_002,
    });
    expect(costOfThread({ free: used(9), gone: used(9) }, models)).toMatchObject({ cost: null, currency: 'EUR' });
    expect(costOfThread({ free: used(9) }, [{ name: 'free' }])).toMatchObject({ cost: null, currency: null });
  });

  test.each(['paid', 'gone', 'other'])('tokens of "%s" without their parts leave the whole open', (name) => {
    expect(costOfThread({ [name]: withoutParts, dear: used(1) }, models)).toMatchObject({
      by_model: { [name]: { tokens: 10, runs: 1, cost: null }, dear: { cost: 0.000_02 } },
      cost: null,
      currency: 'EUR',
    });
  });

  test('those of a model without prices do not, and a thread without calls costs 0', () => {
    expect(costOfThread({ free: withoutParts, paid: used(1) }, models)).toMatchObject({ cost: 0.000_002 });
    expect(costOfThread({}, models)).toEqual({ by_model: {}, cost: 0, currency: 'EUR' });
  });
});

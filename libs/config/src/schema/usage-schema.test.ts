import { type Config, loadConfig } from '../index.js';
import { faultsOf, useConfigFolders } from '../testing/config-folders.js';

const folderWith = useConfigFolders();
const modelWith = (pricing: string, name = 'm'): string =>
  `  - {name: ${name}, base_url: "http://127.0.0.1:1/v1", pricing: ${pricing}}\n`;
const load = (...entries: readonly string[]): Config => loadConfig({}, folderWith(`models:\n${entries.join('')}`));
const faults = (...entries: readonly string[]): readonly string[] => faultsOf(() => load(...entries));

describe('pricing of a model', () => {
  test('what is left out follows from input and output', () => {
    expect(load(modelWith('{input: 2, output: 8, cached_input: 0.5}')).models[0]?.pricing).toEqual({
      ...{ currency: 'USD', input: 2, cachedInput: 0.5, cacheWrite: 2, output: 8, reasoning: 8 },
    });
    expect(load('  - {name: m, base_url: "http://127.0.0.1:1/v1"}\n').models[0]).not.toHaveProperty('pricing');
  });

  test("DeerFlow's names are read", () => {
    const pricing = '{currency: CNY, input_per_million: 3, input_cache_hit_per_million: 0.3, output_per_million: 9}';

    expect(load(modelWith(pricing)).models[0]?.pricing).toMatchObject({
      ...{ currency: 'CNY', input: 3, cachedInput: 0.3, cacheWrite: 3, output: 9, reasoning: 9 },
    });
  });

  test.each([
    ['{input: cheap}', 'models[0].pricing.input: must be a number'],
    ['{input: .nan}', 'models[0].pricing.input: must be a number'],
    ['{input: .inf}', 'models[0].pricing.input: must be a number'],
    ['{cached_input: "1"}', 'models[0].pricing.cached_input: must be a number'],
    ['{output: 1000001}', 'models[0].pricing.output: must be at most 1000000'],
    ['{input: -1}', 'models[0].pricing.input: must not be negative'],
    ['{output_per_million: -0.1}', 'models[0].pricing.output: must not be negative'],
    ['{currency: dollars}', 'models[0].pricing.currency: must be three capital letters, such as USD'],
  ])('%s is refused', (pricing, fault) => {
    expect(faults(modelWith(pricing))).toEqual([fault]);
  });

  test('all prices have one currency', () => {
    expect(faults(modelWith('{input: 1}'), modelWith('{currency: EUR, input: 1}', 'n'))).toEqual([
      'models: pricing.currency of "n" must be that of "m": all prices have one currency',
    ]);
  });
});

describe('budgets', () => {
  const budgeted = (usage: string, models: string): Config =>
    loadConfig({}, folderWith(`models:\n${models}usage: ${usage}\n`));
  const unpriced = '  - {name: free, base_url: "http://127.0.0.1:1/v1"}\n';

  test('on models without prices have no effect, and a warning says so', () => {
    expect(budgeted('{user_budget_per_day: 5}', modelWith('{input: 1}') + unpriced).warnings).toEqual([
      'usage.user_budget_per_day: has no effect on models without `pricing`: free',
    ]);
    expect(budgeted('{key_budget_per_day: 5}', unpriced).warnings).toEqual([
      'usage.key_budget_per_day: has no effect on models without `pricing`: free',
    ]);
  });

  test.each([
    ['{user_budget_per_day: 5}', modelWith('{input: 1}')],
    ['{user_budget_per_day: 0}', unpriced],
    ['{}', unpriced],
  ])('%s needs no warning', (usage, models) => {
    expect(budgeted(usage, models).warnings).toEqual([]);
  });

  test.each([
    ['{user_budget_per_day: -1}', 'usage.user_budget_per_day'],
    ['{key_budget_per_day: much}', 'usage.key_budget_per_day'],
    ['{warn_share: 0}', 'usage.warn_share'],
    ['{retention_days: 0}', 'usage.retention_days'],
  ])('%s is refused by the name of the key', (usage, key) => {
    expect(faultsOf(() => budgeted(usage, unpriced))).toEqual([expect.stringContaining(`${key}: `)]);
  });
});

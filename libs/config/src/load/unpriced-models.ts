import type { Findings } from '../common/findings.js';
import type { Config } from '../settings/config.js';

/** Warns of budgets that the calls of some models, or of all, do not use up, as they cost nothing. */
export function warnAboutUnpricedModels({ usage, models }: Pick<Config, 'usage' | 'models'>, findings: Findings): void {
  const unpriced = models.filter(({ pricing }) => pricing === undefined).map(({ name }) => name);
  if (unpriced.length === 0) return;
  const limits = { user_budget_per_day: usage.userBudgetPerDay, key_budget_per_day: usage.keyBudgetPerDay };
  for (const [key, limit] of Object.entries(limits))
    if (limit !== null && limit > 0)
      findings.warnings.push(`usage.${key}: has no effect on models without \`pricing\`: ${unpriced.join(', ')}`);
}

import type { Findings } from '../common/findings.js';
import type { LoadedModels } from '../deerflow/model-entries.js';
import type { ChainConfig } from '../schema/chain-schema.js';

type Section = ChainConfig['approvals'];

/** Adds a fault for each duplicate id, and a warning for models whose cost cannot be compared with the limit. */
export function checkApprovals(
  { rules, spending }: Section,
  { models }: Pick<LoadedModels, 'models'>,
  { faults, warnings }: Findings,
): void {
  for (const [index, { id }] of rules.entries())
    if (rules.findIndex((rule) => rule.id === id) < index)
      faults.push(`approvals.rules[${index}].id: another rule has this id`);
  if (spending.max_cost === null) return;
  for (const { name, pricing } of models)
    if (pricing === undefined)
      warnings.push(`approvals.spending.max_cost: the model "${name}" has no prices, so its turns cost nothing`);
}

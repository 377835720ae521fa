import { type CommandRule, DEFAULT_COMMAND_RULES } from '@caribou/contracts';
import type { z } from 'zod';
import type { CommandRulesConfig } from '../settings/config.js';
import type { CommandRulesFile } from '../schema/file-schema.js';
import type { Findings } from '../common/findings.js';

type Section = z.output<typeof CommandRulesFile>;

const BUILT_IN_IDS = new Set(DEFAULT_COMMAND_RULES.map(({ id }) => id));

/** Combines the built-in rules with the operator's; an unknown or duplicate id is a fault. */
export function toCommandRules(file: Section, { faults }: Findings): CommandRulesConfig {
  const key = 'command_rules';
  for (const [index, id] of file.disabled.entries())
    if (!BUILT_IN_IDS.has(id)) faults.push(`${key}.disabled[${index}]: no built-in rule has this id`);
  for (const id of Object.keys(file.verdicts))
    if (!BUILT_IN_IDS.has(id)) faults.push(`${key}.verdicts.${id}: no built-in rule has this id`);
  for (const [index, { id }] of file.rules.entries()) {
    const taken = BUILT_IN_IDS.has(id) || file.rules.findIndex((rule) => rule.id === id) < index;
    if (taken) faults.push(`${key}.rules[${index}].id: another rule has this id`);
  }
  return { maxChars: file.max_chars, rules: [...(file.defaults ? selectBuiltInRules(file) : []), ...file.rules] };
}

const selectBuiltInRules = ({ disabled, verdicts }: Section): readonly CommandRule[] =>
  DEFAULT_COMMAND_RULES.filter(({ id }) => !disabled.includes(id)).map((rule) => ({
    ...rule,
    verdict: verdicts[rule.id] ?? rule.verdict,
  }));

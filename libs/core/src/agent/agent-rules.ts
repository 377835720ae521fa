import type { CustomAgent } from '@caribou/contracts';
import type { Skill } from '../ports/skill-catalog.js';

/** Models and tool groups that exist in this installation; a custom agent may name only these. */
export interface InstalledForAgents {
  readonly models: readonly string[];
  readonly toolGroups: readonly string[];
}

const MAX_NAMED = 50;

/** Describes the first setting that names something unknown; the text begins with the name of the field. */
export function findAgentFault(
  { model, tool_groups: groups }: Partial<Pick<CustomAgent, 'model' | 'tool_groups'>>,
  { models, toolGroups }: InstalledForAgents,
): string | undefined {
  if (typeof model === 'string' && !models.includes(model))
    return `model: there is no model "${model}"; ${among('models', models)}`;
  const unknown = groups?.find((group) => !toolGroups.includes(group));
  return unknown === undefined
    ? undefined
    : `tool_groups: there is no group "${unknown}"; ${among('groups', toolGroups)}`;
}

const among = (what: string, names: readonly string[]): string =>
  `${what}: ${names.slice(0, MAX_NAMED).join(', ') || 'none'}`;

/** The skill that explains how to create a custom agent; it is only shown in conversations about doing so. */
export const BOOTSTRAP_SKILL = 'bootstrap';

/** The skills that an agent may use: those with these names, or all when `names` is null. */
export const skillsOfAgent = (skills: readonly Skill[], names: readonly string[] | null): readonly Skill[] =>
  skills.filter(({ name }) => (names === null ? name !== BOOTSTRAP_SKILL : names.includes(name)));

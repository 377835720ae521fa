import type { CustomAgent } from '@caribou/contracts';
import type { Skill } from '../ports/skill-catalog.js';

/** What an installation has of that which custom agents name. */
export interface InstalledForAgents {
  readonly models: readonly string[];
  readonly toolGroups: readonly string[];
}

const MAX_NAMED = 50;

/** The first setting that names something that is not there, in words that begin with its field. */
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

/** The skill that tells how a custom agent is made: shown in conversations about that, and nowhere else. */
export const BOOTSTRAP_SKILL = 'bootstrap';

/** The skills an agent is told of and may be asked for: those of these names; null: all. */
export const skillsOfAgent = (skills: readonly Skill[], names: readonly string[] | null): readonly Skill[] =>
  skills.filter(({ name }) => (names === null ? name !== BOOTSTRAP_SKILL : names.includes(name)));

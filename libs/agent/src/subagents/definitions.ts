import { BUILT_IN_SUBAGENTS, type SubagentsConfig } from '@caribou/config';
import { bashDefinition, generalPurposeDefinition } from './built-in.js';
import type { BuiltIn, SubagentDefinition } from './subagent-definition.js';

/**
 * Tools that no subagent has, whatever the configuration says, because it neither talks to the user nor delegates work.
 */
export const NEVER_FOR_SUBAGENTS = ['task', 'ask_clarification', 'present_files'] as const;

const builtIns: Readonly<Record<(typeof BUILT_IN_SUBAGENTS)[number], BuiltIn>> = {
  'general-purpose': generalPurposeDefinition,
  bash: bashDefinition,
};

/**
 * Defines the kinds of subagents by name, in the order in which they are listed to the model. The operator's settings
 * for one kind override his settings for all kinds, which override the defaults of the kind.
 */
export function subagentDefinitions(config: SubagentsConfig): ReadonlyMap<string, SubagentDefinition> {
  const own = Object.entries(config.custom_agents).map(([name, agent]) => ({
    name,
    description: agent.description,
    systemPrompt: agent.system_prompt,
    tools: agent.tools ?? null,
    toolGroups: agent.tool_groups ?? null,
    disallowedTools: [...agent.disallowed_tools, ...NEVER_FOR_SUBAGENTS],
    skills: agent.skills ?? null,
    model: agent.model,
    maxTurns: agent.max_turns,
    timeoutMs: 1_000 * (agent.timeout_seconds ?? config.timeout_seconds),
  }));
  const shipped = BUILT_IN_SUBAGENTS.map((name) => ({
    ...builtIns[name],
    maxTurns: config.max_turns ?? builtIns[name].maxTurns,
    timeoutMs: 1_000 * config.timeout_seconds,
  }));
  const all = [...shipped, ...own].map((base) => {
    const {
      model,
      skills,
      max_turns: maxTurns,
      timeout_seconds: timeout,
      token_budget: budget,
    } = config.agents[base.name] ?? {};
    const definition: SubagentDefinition = {
      ...base,
      model: model ?? base.model,
      skills: skills ?? base.skills,
      maxTurns: maxTurns ?? base.maxTurns,
      timeoutMs: timeout === undefined ? base.timeoutMs : 1_000 * timeout,
      tokenBudget: {
        enabled: budget?.enabled ?? config.token_budget.enabled,
        max_tokens: budget?.max_tokens ?? config.token_budget.max_tokens,
        warn_threshold: budget?.warn_threshold ?? config.token_budget.warn_threshold,
      },
    };
    return [definition.name, definition] as const;
  });
  return new Map(all);
}

/** Whether a subagent may have a tool; `parentTools` are those of the calling agent. */
export function mayUse(
  { tools, disallowedTools }: Pick<SubagentDefinition, 'tools' | 'disallowedTools'>,
  parentTools: ReadonlySet<string>,
  name: string,
): boolean {
  const allowed = tools === null || tools.includes(name);
  return allowed && parentTools.has(name) && !disallowedTools.includes(name);
}

import type { PromptFacts } from '@caribou/agent';
import { customAgentOf, NotFoundError, omitUndefined } from '@caribou/contracts';
import {
  type AgentStore,
  type AnyTool,
  BOOTSTRAP_SKILL,
  type InstalledForAgents,
  type ModelCatalog,
  type ModelPort,
  type RunContext,
  type Skill,
  type StoredAgent,
} from '@caribou/core';
import { setupAgentTool, updateAgentTool } from '@caribou/tools';

/** The agent that executes a run: the lead agent, or a custom agent as it was when the run, or its takeover, began. */
export interface AgentOfRun {
  /** The custom agent; null for the lead agent itself. */
  readonly custom: StoredAgent | null;
  /** What the user has written about themselves for all agents. */
  readonly profile: string;
  /** Whether the run is a conversation that creates a custom agent. */
  readonly makesAgent: boolean;
  /** Names of the skills in the agent's prompt; null means all. */
  readonly skillNames: readonly string[] | null;
}

/** @throws {NotFoundError} when the run names a custom agent that does not exist, or was deleted */
export async function agentOfRun(
  agents: AgentStore,
  { userId, context }: Pick<RunContext, 'userId' | 'context'>,
): Promise<AgentOfRun> {
  const name = customAgentOf(context);
  const [custom, profile] = await Promise.all([
    name === undefined ? null : agents.read(userId, name),
    agents.profile(userId),
  ]);
  if (name !== undefined && custom === null) throw new NotFoundError(`there is no agent "${name}"`);
  const makesAgent = context.is_bootstrap === true;
  return { custom, profile, makesAgent, skillNames: makesAgent ? [BOOTSTRAP_SKILL] : (custom?.skills ?? null) };
}

/**
 * The model of a run: the one that it names, or else the agent's, or else the default model. An agent whose model is no
 * longer configured uses the default model.
 *
 * @throws {InvalidRequestError} when the run names an unknown model
 */
export function modelOf({ context, logger }: RunContext, { custom }: AgentOfRun, models: ModelCatalog): ModelPort {
  const own = custom?.model ?? undefined;
  if (context.model_name !== undefined || own === undefined || models.names.includes(own))
    return models.get(context.model_name ?? own);
  logger.warn({ event: 'agent.model', agent: custom?.name, model: own }, "the agent's model is not configured");
  return models.get(undefined);
}

/**
 * The run with the settings of its custom agent: the model, which its subagents use too, and, if the agent has them, those
 * of its model calls. Web clients send the settings of thinking with every run, so those of the agent take precedence. They
 * never send temperature and maximum tokens: a run that has them was meant to, so its values take precedence.
 */
export function applyAgentSettings(run: RunContext, { custom }: AgentOfRun, { name }: ModelPort): RunContext {
  if (custom === null) return run;
  const { thinking_enabled: thinking, reasoning_effort: effort, model_settings: settings } = custom;
  const { temperature = settings?.temperature, max_tokens: maxTokens = settings?.max_tokens } = run.context;
  return {
    ...run,
    context: {
      ...run.context,
      model_name: name,
      ...(thinking === null ? {} : { thinking_enabled: thinking }),
      ...(effort === null ? {} : { reasoning_effort: effort }),
      ...omitUndefined({ temperature: temperature ?? undefined, max_tokens: maxTokens ?? undefined }),
    },
  };
}

export interface AgentToolParts {
  readonly agents: AgentStore;
  readonly known: InstalledForAgents;
}

/** The tools that create or change custom agents. */
export function agentTools({ custom, makesAgent }: AgentOfRun, { agents, known }: AgentToolParts): readonly AnyTool[] {
  if (makesAgent) return [setupAgentTool(agents)];
  return custom === null ? [] : [updateAgentTool({ agents, known, shown: custom })];
}

/** The facts about the agent in its prompt. */
export function agentFacts(
  { custom, makesAgent }: AgentOfRun,
  name: string | undefined,
  skills: readonly Skill[],
): Partial<PromptFacts> {
  const skillLocation = skills.find((skill) => skill.enabled && skill.name === BOOTSTRAP_SKILL)?.location;
  return {
    ...(custom === null ? {} : { agentName: custom.name, soul: custom.soul }),
    ...(makesAgent ? { bootstrap: omitUndefined({ name, skillLocation }) } : {}),
  };
}

import { buildSystemPrompt, chainOptions, type PromptFacts, type RunSwitches } from '@caribou/agent';
import type { Config } from '@caribou/config';
import {
  type AgentMiddleware,
  type AnyTool,
  memoize,
  memoizeRecentBy,
  type ModelCatalog,
  type ModelGate,
  type ModelPort,
  type SandboxPort,
  type SchedulePort,
  type Skill,
  skillsOfAgent,
  type SubagentPort,
} from '@caribou/core';
import { leadChain, TODO_PROMPT } from '@caribou/middleware';
import { stopScheduledTaskTool, taskTool } from '@caribou/tools';
import { type AgentTools, toolFacts } from '@caribou/worker';
import { agentFacts, type AgentOfRun, type AgentToolParts, agentTools } from './agent-of-run.js';
import { readContext } from './context-reader.js';
import type { ReadsOfRuns } from './run-reads.js';

export type LeadAgentConfig = Pick<
  Config,
  'runner' | 'title' | 'commandRules' | 'chain' | 'tools' | 'agentsApi' | 'sandbox'
>;

/** What the runs of an agent are assembled from that have the same model, switches, tools and skills. */
export interface AgentSetup {
  readonly tools: readonly AnyTool[];
  readonly chain: readonly AgentMiddleware[];
  readonly systemPrompt: string;
}

/** Everything that a setup depends on. */
export interface SetupFacts {
  readonly agent: AgentOfRun;
  /** The name of the custom agent that the run names, which may not exist yet. */
  readonly agentName: string | undefined;
  readonly model: ModelPort;
  readonly switches: RunSwitches;
  /** The built-in tools and those of the sources that this agent may use. */
  readonly offered: readonly AnyTool[];
  /** All skills of the user. */
  readonly skills: readonly Skill[];
  /** Whether the thread exists for one run only. */
  readonly isTemporary: boolean;
  /** Whether the run was started by a schedule. */
  readonly isScheduled: boolean;
}

export interface SetupPorts extends Pick<AgentTools, 'custom'> {
  readonly sandbox: SandboxPort;
  readonly gate: ModelGate;
  /** The models whose calls pass the gate, for calls that middlewares make themselves. */
  readonly gatedModels: ModelCatalog;
  readonly reads: Pick<ReadsOfRuns, 'of'>;
  readonly conversions: Parameters<typeof leadChain>[0]['conversions'];
  readonly subagents: SubagentPort;
  readonly schedules: SchedulePort;
  /** For the tools that create and change custom agents. */
  readonly agentTools: AgentToolParts;
}

/**
 * Creates the function that assembles agents. Middlewares and tools have no state between runs, so the setups that were used
 * last are shared by all runs with the same facts.
 */
export const agentSetups = (ports: SetupPorts, config: LeadAgentConfig): ((facts: SetupFacts) => AgentSetup) =>
  memoizeRecentBy(identityOf, (facts) => createSetup(ports, config, facts));

const NOBODY = Symbol('no custom agent');

/** What two runs must have in common to share a setup; a custom agent is an object of its own for each run. */
function identityOf({ agent, agentName, switches, ...facts }: SetupFacts): readonly unknown[] {
  const { model, skills, isTemporary, isScheduled, offered } = facts;
  const { vision, planMode, subagents, maxConcurrentSubagents, maxTotalSubagents, clarification } = switches;
  return [
    ...[agent.custom ?? NOBODY, agent.makesAgent, agentName, model, skills, isTemporary, isScheduled],
    ...[vision, planMode, subagents, maxConcurrentSubagents, maxTotalSubagents, clarification],
    ...offered,
  ];
}

function createSetup(ports: SetupPorts, config: LeadAgentConfig, facts: SetupFacts): AgentSetup {
  const { agent, agentName, model, switches } = facts;
  const skills = skillsOfAgent(facts.skills, agent.skillNames);
  const approvals = agent.custom?.approvals ?? [];
  const tools = toolsFor(ports, config, facts);
  const described = toolFacts([...tools, ...toolsIn(ports.custom)], config);
  const options = {
    ...chainOptions(config, { switches, models: ports.gatedModels, tools }),
    context: readContext(ports.reads, { ...described, skills: skills.filter(({ enabled }) => enabled) }),
    ...{ custom: ports.custom, skills, approvals, temporary: facts.isTemporary },
  };
  const { sandbox, conversions, gate } = ports;
  const chain = leadChain({ sandbox, model, gate, ...(conversions && { conversions }) }, options);
  const systemPrompt = buildSystemPrompt({
    toolNames: namesOf([...tools, ...toolsIn(chain)]),
    ...promptFacts(switches, ports.subagents.types),
    ...agentFacts(agent, agentName, skills),
  });
  return { tools, chain, systemPrompt };
}

function toolsFor(
  { subagents, schedules, agentTools: parts }: SetupPorts,
  config: LeadAgentConfig,
  { agent, switches, offered, isScheduled }: SetupFacts,
): readonly AnyTool[] {
  return [
    ...offered,
    ...(config.agentsApi.enabled ? agentTools(agent, parts) : []),
    ...(isScheduled ? [stopScheduledTaskTool(schedules)] : []),
    ...(switches.subagents
      ? [taskTool(subagents, namesOf(offered), agent.skillNames, agent.custom?.approvals ?? [])]
      : []),
  ];
}

const toolsIn = memoize((chain: readonly AgentMiddleware[]): readonly AnyTool[] =>
  chain.flatMap((middleware) => middleware.tools ?? []),
);

const namesOf = (tools: readonly AnyTool[]): readonly string[] => tools.map(({ name }) => name);

function promptFacts(switches: RunSwitches, types: SubagentPort['types']): Omit<PromptFacts, 'toolNames'> {
  return {
    ...(switches.planMode ? { planGuide: TODO_PROMPT } : {}),
    ...(switches.subagents ? { subagents: { maxConcurrent: switches.maxConcurrentSubagents, types } } : {}),
  };
}

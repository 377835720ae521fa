import { omitUndefined } from '@caribou/contracts';
import {
  buildSystemPrompt,
  chainOptions,
  contextFacts,
  type PromptFacts,
  type RunSwitches,
  switchesOf,
} from '@caribou/agent';
import type { Config } from '@caribou/config';
import {
  type AgentMiddleware,
  type AgentStore,
  type AnyTool,
  type ConversionStore,
  type LoopOutcome,
  type MemoryStore,
  type ModelCatalog,
  type ModelGate,
  type ModelPort,
  type RunContext,
  type SandboxPort,
  type SchedulePort,
  type Skill,
  skillsOfAgent,
  type SubagentPort,
  toolsOfGroups,
} from '@caribou/core';
import { type ContextFacts, gateCatalog, leadChain, TODO_PROMPT, titleWithoutAnswer } from '@caribou/middleware';
import type { AfterCancel, AgentInput, AgentLoop, EarlyRun } from '@caribou/runs';
import { leadTools, stopScheduledTaskTool, taskTool } from '@caribou/tools';
import { type AgentTools, runFromHead, toolFacts, toolOffer } from '@caribou/worker';
import { agentFacts, agentOfRun, agentTools, applyAgentSettings, modelOf } from './agent-of-run.js';
import { memoryForPrompt } from './memory-for-prompt.js';
import { ReadsOfRuns, type RunReads } from './run-reads.js';

export interface LeadAgentPorts extends Pick<AgentTools, 'skills' | 'sources' | 'custom'> {
  readonly models: ModelCatalog;
  readonly gate: ModelGate;
  readonly sandbox: SandboxPort;
  readonly conversions: Pick<ConversionStore, 'read' | 'newestUpload' | 'uploadsSince'>;
  readonly subagents: SubagentPort;
  readonly memories: Pick<MemoryStore, 'read'>;
  readonly agents: AgentStore;
  readonly schedules: SchedulePort;
}

export type LeadAgentConfig = Pick<
  Config,
  'runner' | 'title' | 'commandRules' | 'chain' | 'tools' | 'agentsApi' | 'sandbox'
>;

/**
 * The loop of the lead agent or of the custom agent that the run names. Tools, chain and prompt are built for each run
 * from its switches, the agent and the configuration; a takeover reads the agent again. What changes from run to run, such
 * as the user's memory, is read when the run starts and is part of the thread. Only lead agents get the memory.
 *
 * @returns a loop that throws InvalidRequestError when the run names an unknown model, NotFoundError when it names an
 *   agent that does not exist.
 */
export function leadAgent(ports: LeadAgentPorts, config: LeadAgentConfig): AgentLoop {
  const { models, gate, sandbox, conversions, subagents, memories, agents, custom } = ports;
  // Calls of the loop pass the model gate in the chain; calls that middlewares make themselves pass it here.
  const gatedModels = gateCatalog(models, gate);
  const toolsFor = toolSets(sandbox, config.sandbox.limits.commandTimeoutMs);
  const known = { models: models.names, toolGroups: config.tools.groupNames };
  const reads = new ReadsOfRuns({
    agentOf: (early) => agentOfRun(agents, early),
    skillsOf: (userId) => ports.skills.skillsOf(userId),
    offerTools: toolOffer(ports, config),
    memory: memoryForPrompt(memories, config.chain.memory),
    conversions,
  });
  const loop = async (input: AgentInput): Promise<LoopOutcome> => {
    const { run: given, claimed } = input;
    const { kwargs } = claimed.run;
    const { offer, memory, uploadsSince, ...begun } = reads.begin(input.early);
    const [agent, allSkills] = await Promise.all([begun.agent, begun.skills]);
    const model = modelOf(given, agent, models);
    const run = applyAgentSettings(given, agent, model);
    const switches = switchesOf(run.context, config.chain, model);
    warnIgnoredSwitch(run, model);
    const skills = skillsOfAgent(allSkills, agent.skillNames);
    const approvals = agent.custom?.approvals ?? [];
    const own = toolsOfGroups(await offer(toolsFor(switches), run.logger), agent.custom?.tool_groups ?? null);
    const tools = [
      ...own,
      ...(config.agentsApi.enabled ? agentTools(agent, { agents, known }) : []),
      ...(run.context.scheduled_task === undefined ? [] : [stopScheduledTaskTool(ports.schedules)]),
      ...(switches.subagents ? [taskTool(subagents, namesOf(own), agent.skillNames, approvals)] : []),
    ];
    const facts = toolFacts([...tools, ...toolsIn(custom)], config);
    const context = contextReader({ ...facts, skills, profile: agent.profile }, memory);
    const options = {
      ...chainOptions(config, { switches, models: gatedModels, tools }),
      ...{ custom, skills, context, approvals, temporary: kwargs.temporary },
    };
    const chain = leadChain({ sandbox, conversions: { read: conversions.read, uploadsSince }, model, gate }, options);
    return runFromHead(input, {
      chain,
      tools,
      model,
      systemPrompt: buildSystemPrompt({
        toolNames: namesOf([...tools, ...toolsIn(chain)]),
        ...promptFacts(switches, subagents.types),
        ...agentFacts(agent, run, skills),
      }),
      options: {
        maxTurns: Math.min(kwargs.recursion_limit, config.runner.maxTurnsCap),
        ...omitUndefined({ interruptBefore: kwargs.interrupt_before, interruptAfter: kwargs.interrupt_after }),
      },
      run,
    });
  };
  return Object.assign(loop, { prefetch: (early: EarlyRun): void => void reads.begin(early) });
}

/** The built-in tools by the switches that select them. They are cached, because creating their schemas takes time. */
function toolSets(sandbox: SandboxPort, commandTimeoutMs: number): (switches: RunSwitches) => readonly AnyTool[] {
  const toolsByKey = new Map<string, readonly AnyTool[]>();
  return ({ vision, clarification }) => {
    const key = JSON.stringify([vision, clarification]);
    const known = toolsByKey.get(key);
    if (known !== undefined) return known;
    const tools = leadTools({ sandbox }, { vision, clarification, commandTimeoutMs });
    toolsByKey.set(key, tools);
    return tools;
  };
}

const toolsIn = (chain: readonly AgentMiddleware[]): readonly AnyTool[] =>
  chain.flatMap((middleware) => middleware.tools ?? []);

interface AgentContext extends ReturnType<typeof toolFacts> {
  readonly skills: readonly Skill[];
  readonly profile: string;
}

/** Reads what a run shows the model besides the conversation, when it starts. */
const contextReader =
  ({ skills, ...facts }: AgentContext, memoryOf: RunReads['memory']) =>
  async (run: RunContext): Promise<ContextFacts> =>
    contextFacts({
      ...facts,
      skills: skills.filter(({ enabled }) => enabled),
      nowMs: run.clock.now(),
      memory: await memoryOf(run),
    });

const namesOf = (tools: readonly AnyTool[]): readonly string[] => tools.map(({ name }) => name);

function promptFacts(switches: RunSwitches, types: SubagentPort['types']): Omit<PromptFacts, 'toolNames'> {
  return {
    ...(switches.planMode ? { planGuide: TODO_PROMPT } : {}),
    ...(switches.subagents ? { subagents: { maxConcurrent: switches.maxConcurrentSubagents, types } } : {}),
  };
}

/** What a cancelled run still stores: a title, so that users find its thread again, and the outcomes of its tasks. */
export const afterCancel =
  (config: Pick<Config, 'title'>, endTasks: AfterCancel): AfterCancel =>
  async (run) => {
    const title = titleWithoutAnswer(run.state, config.title);
    return { ...(await endTasks(run)), ...(title === undefined ? {} : { update: { title } }) };
  };

/** Warns of a switch that the model does not support. This is not an error: the run continues without it. */
function warnIgnoredSwitch({ context, logger }: RunContext, model: ModelPort): void {
  if (context.thinking_enabled !== true || model.supportsThinking) return;
  logger.warn({ event: 'switch.ignored', model: model.name }, 'thinking_enabled: the model does not think');
}

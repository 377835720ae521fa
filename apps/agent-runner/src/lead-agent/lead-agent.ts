import { omitUndefined } from '@caribou/contracts';
import { type RunSwitches, switchesOf } from '@caribou/agent';
import type { Config } from '@caribou/config';
import {
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
  type SubagentPort,
  toolsOfGroups,
} from '@caribou/core';
import { gateCatalog, titleWithoutAnswer } from '@caribou/middleware';
import type { AfterCancel, AgentInput, AgentLoop, EarlyRun } from '@caribou/runs';
import { leadTools } from '@caribou/tools';
import { type AgentTools, runFromHead, toolOffer } from '@caribou/worker';
import { agentOfRun, applyAgentSettings, modelOf } from './agent-of-run.js';
import { agentSetups, type LeadAgentConfig } from './agent-setup.js';
import { memoryForPrompt } from './memory-for-prompt.js';
import { ReadsOfRuns } from './run-reads.js';

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

/**
 * The loop of the lead agent or of the custom agent that the run names. Tools, chain and prompt are those of its switches, the agent
 * and the configuration; a takeover reads the agent again. What changes from run to run, such as the user's memory, is read when
 * the run starts and is part of the thread. Only lead agents get the memory.
 *
 * @returns a loop that throws InvalidRequestError when the run names an unknown model, NotFoundError when it names an
 *   agent that does not exist.
 */
export function leadAgent(ports: LeadAgentPorts, config: LeadAgentConfig): AgentLoop {
  const { models, gate, sandbox, conversions, agents } = ports;
  const toolsFor = toolSets(sandbox, config.sandbox.limits.commandTimeoutMs);
  const reads = readsOfRuns(ports, config);
  const setupFor = agentSetups(
    {
      ...ports,
      // Calls of the loop pass the model gate in the chain; calls that middlewares make themselves pass it here.
      gatedModels: gateCatalog(models, gate),
      reads,
      conversions: {
        read: conversions.read,
        uploadsSince: (run, number) => reads.of(run).uploadsSince(run, number),
      },
      agentTools: { agents, known: { models: models.names, toolGroups: config.tools.groupNames } },
    },
    config,
  );
  const loop = async (input: AgentInput): Promise<LoopOutcome> => {
    const { run: given, claimed } = input;
    const { kwargs } = claimed.run;
    const begun = reads.beginFor(given, input.early);
    const [agent, skills] = await Promise.all([begun.agent, begun.skills]);
    const model = modelOf(given, agent, models);
    const run = applyAgentSettings(given, agent, model);
    const switches = switchesOf(run.context, config.chain, model);
    warnIgnoredSwitch(run, model);
    const offered = await begun.offer(toolsFor(switches), run.logger);
    const setup = setupFor({
      ...{ agent, agentName: run.context.agent_name, model, switches, skills },
      offered: toolsOfGroups(offered, agent.custom?.tool_groups ?? null),
      isTemporary: kwargs.temporary === true,
      isScheduled: run.context.scheduled_task !== undefined,
    });
    const options = {
      maxTurns: Math.min(kwargs.recursion_limit, config.runner.maxTurnsCap),
      ...omitUndefined({ interruptBefore: kwargs.interrupt_before, interruptAfter: kwargs.interrupt_after }),
    };
    return runFromHead(input, { ...setup, model, options, run });
  };
  return Object.assign(loop, { prefetch: (early: EarlyRun): void => void reads.begin(early) });
}

const readsOfRuns = (ports: LeadAgentPorts, config: LeadAgentConfig): ReadsOfRuns =>
  new ReadsOfRuns({
    agentOf: (early) => agentOfRun(ports.agents, early),
    skillsOf: (userId) => ports.skills.skillsOf(userId),
    offerTools: toolOffer(ports, config),
    memory: memoryForPrompt(ports.memories, config.chain.memory),
    conversions: ports.conversions,
  });

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

import {
  buildSubagentPrompt,
  chainOptions,
  contextFacts,
  mayUse,
  type SubagentDefinition,
  subagentDefinitions,
} from '@caribou/agent';
import type { Config } from '@caribou/config';
import { InvalidRequestError, type TaskSpec } from '@caribou/contracts';
import {
  type AnyTool,
  type ModelCatalog,
  type ModelGate,
  type ModelPort,
  type RunContext,
  type SandboxPort,
  type Skill,
  skillsOfAgent,
  toolsOfGroups,
} from '@caribou/core';
import { type ChainOptions, type ContextFacts, gateCatalog, subagentChain } from '@caribou/middleware';
import { type AgentLoop, taskSpecOf } from '@caribou/runs';
import { leadTools } from '@caribou/tools';
import { type AgentTools, runFromHead, toolFacts, toolOffer } from '@caribou/worker';

export interface SubagentPorts extends Pick<AgentTools, 'skills' | 'sources' | 'custom'> {
  readonly models: ModelCatalog;
  readonly gate: ModelGate;
  /** The sandbox of the agent that delegated the task. */
  readonly sandbox: SandboxPort;
}

export type SubagentConfig = Pick<Config, 'title' | 'commandRules' | 'chain' | 'tools' | 'sandbox'>;

/**
 * The loop of a subagent, which works on one task. Prompt and limits are those of its type; its tools are those of the
 * parent that the type may use.
 *
 * @returns a loop that throws InvalidRequestError when the task names a kind or a model that is not configured (any more).
 */
export function subagentLoop(ports: SubagentPorts, config: SubagentConfig): AgentLoop {
  const { models, gate, sandbox, skills, custom } = ports;
  const definitions = subagentDefinitions(config.chain.subagents);
  const gatedModels = gateCatalog(models, gate);
  const offerTools = toolOffer(ports, config);
  // Tools are created once, because creating their schemas for each task would take time.
  const { commandTimeoutMs } = config.sandbox.limits;
  const allTools = [false, true].map((vision) =>
    leadTools({ sandbox }, { vision, clarification: false, commandTimeoutMs }),
  );
  return async (input) => {
    const { run, claimed } = input;
    const spec = taskSpecOf(claimed.run);
    const definition = spec === undefined ? undefined : definitions.get(spec.subagent_type);
    if (spec === undefined || definition === undefined)
      throw new InvalidRequestError(`this subagent-pool knows no subagent '${claimed.run.assistant_id}'`);
    const model = models.get(spec.model);
    const builtIn = allTools[model.supportsVision ? 1 : 0] ?? [];
    const tools = toolsOf(definition, spec, await offerTools()(builtIn, run.logger));
    const offeredSkills = selectSkills(definition, spec, await skills.skillsOf(run.userId));
    const facts = toolFacts([...tools, ...custom.flatMap((middleware) => middleware.tools ?? [])], config);
    const context = (): Promise<ContextFacts> =>
      Promise.resolve(contextFacts({ ...facts, nowMs: run.clock.now(), skills: offeredSkills }));
    const approvals = spec.approvals ?? [];
    const options = { ...optionsOf(config, { definition, model, tools, gatedModels, custom }), context, approvals };
    const chain = subagentChain({ sandbox, model, gate }, options);
    const offered = [...tools, ...chain.flatMap((middleware) => middleware.tools ?? [])];
    const outcome = runFromHead(input, {
      chain,
      tools,
      model,
      systemPrompt: buildSubagentPrompt(definition.systemPrompt, { toolNames: offered.map(({ name }) => name) }),
      options: { maxTurns: claimed.run.kwargs.recursion_limit },
      run: withoutDeltas(run),
    });
    return outcome.finally(() => sandbox.release(run));
  };
}

function toolsOf(definition: SubagentDefinition, spec: TaskSpec, all: readonly AnyTool[]): readonly AnyTool[] {
  const parentTools = new Set(spec.tools);
  return toolsOfGroups(all, definition.toolGroups).filter(({ name }) => mayUse(definition, parentTools, name));
}

interface Assembly {
  readonly definition: SubagentDefinition;
  readonly model: ModelPort;
  readonly tools: readonly AnyTool[];
  readonly gatedModels: ModelCatalog;
  readonly custom: AgentTools['custom'];
}

function optionsOf(config: SubagentConfig, { definition, model, tools, gatedModels, custom }: Assembly): ChainOptions {
  const switches = {
    vision: model.supportsVision,
    planMode: false,
    subagents: false,
    maxConcurrentSubagents: 0,
    maxTotalSubagents: 0,
    clarification: false,
  };
  const options = chainOptions(config, { switches, models: gatedModels, tools });
  const { tokenBudget } = definition;
  const limits = { ...tokenBudget, max_input_tokens: null, max_output_tokens: null, hard_stop_threshold: 1 };
  return { ...options, custom, config: { ...options.config, token_budget: limits } };
}

const selectSkills = ({ skills: names }: SubagentDefinition, spec: TaskSpec, all: readonly Skill[]): readonly Skill[] =>
  skillsOfAgent(all, spec.skills ?? null).filter(
    ({ name, enabled }) => enabled && (names === null || names.includes(name)),
  );

/** The run without events for deltas: clients see only whole answers of a subagent. */
const withoutDeltas = (run: RunContext): RunContext => ({
  ...run,
  emit: async (event) => {
    run.signal.throwIfAborted();
    if (event.kind !== 'message.delta') await run.emit(event);
  },
});

import {
  buildSubagentPrompt,
  chainOptions,
  mayUse,
  runAgent,
  type SubagentDefinition,
  subagentDefinitions,
} from '@caribou/agent';
import type { Config } from '@caribou/config';
import { InvalidRequestError, type TaskSpec } from '@caribou/contracts';
import {
  type AgentMiddleware,
  type AnyTool,
  type ModelCatalog,
  type ModelGate,
  type ModelPort,
  offeredTools,
  type RunContext,
  type SandboxPort,
  type Skill,
  type SkillCatalog,
  skillsOfAgent,
  type ToolSource,
  collectTools,
  toolsOfGroups,
} from '@caribou/core';
import { type ChainOptions, deferredToolsSection, gatedModel, subagentChain } from '@caribou/middleware';
import { type AgentLoop, taskSpecOf } from '@caribou/runs';
import { leadTools } from '@caribou/tools';

export interface SubagentPorts {
  readonly models: ModelCatalog;
  readonly gate: ModelGate;
  /** That of the agent that handed the task over. */
  readonly sandbox: SandboxPort;
  readonly skills: SkillCatalog;
  /** Tools beside the built-in ones: those that lead agents have. */
  readonly sources: readonly ToolSource[];
  /** Middlewares of the operator. */
  readonly custom: readonly AgentMiddleware[];
}

export type SubagentConfig = Pick<Config, 'title' | 'commandRules' | 'chain' | 'tools' | 'sandbox'>;

/**
 * A subagent at work on one task: prompt and limits of its kind, tools that its parent has and its kind may use.
 *
 * @returns a loop that throws InvalidRequestError when the task names a kind or a model that is not configured (any more).
 */
export function subagentLoop(
  { models, gate, sandbox, skills, sources, custom }: SubagentPorts,
  config: SubagentConfig,
): AgentLoop {
  const definitions = subagentDefinitions(config.chain.subagents);
  const quiet: ModelCatalog = { names: models.names, get: (name) => gatedModel(models.get(name), gate) };
  const customTools = custom.flatMap((middleware) => middleware.tools ?? []);
  // Schemas are made once: a task must not pay for them.
  const { commandTimeoutMs } = config.sandbox.limits;
  const allTools = [false, true].map((vision) =>
    leadTools({ sandbox }, { vision, clarification: false, commandTimeoutMs }),
  );
  return async ({ host, run, claimed, head, position }) => {
    const { kwargs, llm_call_count: turnsTaken } = claimed.run;
    const spec = taskSpecOf(claimed.run);
    const definition = spec === undefined ? undefined : definitions.get(spec.subagent_type);
    if (spec === undefined || definition === undefined)
      throw new InvalidRequestError(`this subagent-pool knows no subagent '${claimed.run.assistant_id}'`);
    const model = models.get(spec.model);
    const builtIn = allTools[model.supportsVision ? 1 : 0] ?? [];
    const others = await collectTools(sources, run, [...builtIn, ...customTools]);
    const tools = toolsOf(definition, spec, offeredTools([...builtIn, ...others], config.tools));
    const told = toldSkills(definition, spec, await skills.skillsOf(run.userId));
    const options = optionsOf(config, { definition, model, tools, quiet, custom });
    const chain = subagentChain({ sandbox, model, gate }, options);
    const offered = [...tools, ...chain.flatMap((middleware) => middleware.tools ?? [])];
    const outcome = runAgent({
      chain,
      tools,
      model,
      systemPrompt: promptOf(definition, run, {
        tools: offered,
        skills: told,
        toolSearch: config.chain.tool_search.enabled,
      }),
      options: { maxTurns: kwargs.recursion_limit },
      host,
      run: withoutDeltas(run),
      state: head.state,
      step: head.metadata?.step ?? 0,
      position,
      turnsTaken,
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
  readonly quiet: ModelCatalog;
  readonly custom: readonly AgentMiddleware[];
}

function optionsOf(config: SubagentConfig, { definition, model, tools, quiet, custom }: Assembly): ChainOptions {
  const switches = {
    vision: model.supportsVision,
    planMode: false,
    subagents: false,
    maxConcurrentSubagents: 0,
    maxTotalSubagents: 0,
    clarification: false,
  };
  const options = chainOptions(config, { switches, models: quiet, tools });
  const { tokenBudget } = definition;
  const limits = { ...tokenBudget, max_input_tokens: null, max_output_tokens: null, hard_stop_threshold: 1 };
  return { ...options, custom, config: { ...options.config, token_budget: limits } };
}

const toldSkills = ({ skills: names }: SubagentDefinition, spec: TaskSpec, all: readonly Skill[]): readonly Skill[] =>
  skillsOfAgent(all, spec.skills ?? null).filter(
    ({ name, enabled }) => enabled && (names === null || names.includes(name)),
  );

interface Offered {
  readonly tools: readonly AnyTool[];
  readonly skills: readonly Skill[];
  readonly toolSearch: boolean;
}

function promptOf(
  { systemPrompt }: SubagentDefinition,
  { clock }: RunContext,
  { tools, skills, toolSearch }: Offered,
): string {
  const hidden = !toolSearch ? [] : tools.filter(({ deferred }) => deferred !== undefined);
  const deferredTools = deferredToolsSection(hidden.map(({ name }) => name));
  return buildSubagentPrompt(systemPrompt, {
    toolNames: tools.map(({ name }) => name),
    nowMs: clock.now(),
    skills,
    ...(deferredTools === undefined ? {} : { deferredTools }),
  });
}

/** Nobody watches a subagent write: whoever waits is told of whole answers. */
const withoutDeltas = (run: RunContext): RunContext => ({
  ...run,
  emit: async (event) => {
    run.signal.throwIfAborted();
    if (event.kind !== 'message.delta') await run.emit(event);
  },
});

import {
  buildSystemPrompt,
  chainOptions,
  type PromptFacts,
  runAgent,
  type RunSwitches,
  switchesOf,
} from '@caribou/agent';
import type { Config } from '@caribou/config';
import type { StateUpdate, ThreadState } from '@caribou/contracts';
import type {
  AgentMiddleware,
  AnyTool,
  ConversionStore,
  MemoryStore,
  ModelCatalog,
  ModelGate,
  ModelPort,
  RunContext,
  SandboxPort,
} from '@caribou/core';
import { deferredToolsSection, gatedModel, leadChain, TODO_PROMPT, titleWithoutAnswer } from '@caribou/middleware';
import type { AgentLoop } from '@caribou/runs';
import { leadTools } from '@caribou/tools';
import { memoryForPrompt } from './memory-for-prompt.js';

export interface LeadAgentPorts {
  readonly models: ModelCatalog;
  readonly gate: ModelGate;
  readonly sandbox: SandboxPort;
  readonly conversions: Pick<ConversionStore, 'read'>;
  readonly memories: Pick<MemoryStore, 'read'>;
  /** Middlewares of the operator. */
  readonly custom: readonly AgentMiddleware[];
}

export type LeadAgentConfig = Pick<Config, 'runner' | 'title' | 'commandRules' | 'chain'>;

/**
 * The lead agent: tools, chain and prompt put together per run from the run's switches, what is remembered of its person
 * and the configuration. Only a lead agent is told what is remembered; a takeover reads it again.
 *
 * @returns a loop that throws InvalidRequestError when the run names an unknown model.
 */
export function leadAgent(ports: LeadAgentPorts, config: LeadAgentConfig): AgentLoop {
  const { models, gate, sandbox, conversions, memories, custom } = ports;
  // The loop's own calls pass the gate in the chain; those that middlewares make on their own pass it here.
  const quiet: ModelCatalog = { names: models.names, get: (name) => gatedModel(models.get(name), gate) };
  const toolsFor = toolSets(sandbox);
  const memoryOf = memoryForPrompt(memories, config.chain.memory);
  return async ({ host, run, claimed, head, position }) => {
    const { kwargs, llm_call_count: turnsTaken } = claimed.run;
    const model = models.get(run.context.model_name);
    const switches = switchesOf(run.context, config.chain, model);
    tellIgnored(run, model);
    const tools = toolsFor(switches);
    const options = { ...chainOptions(config, { switches, models: quiet, tools }), custom };
    const chain = leadChain({ sandbox, conversions, model, gate }, options);
    const all = [...tools, ...chain.flatMap((middleware) => middleware.tools ?? [])];
    return runAgent({
      chain,
      tools,
      model,
      systemPrompt: buildSystemPrompt({
        ...promptFacts(run, switches, { tools: all, toolSearch: options.toolSearch }),
        memory: await memoryOf(run),
      }),
      options: {
        maxTurns: Math.min(kwargs.recursion_limit, config.runner.maxTurnsCap),
        ...(kwargs.interrupt_before === undefined ? {} : { interruptBefore: kwargs.interrupt_before }),
        ...(kwargs.interrupt_after === undefined ? {} : { interruptAfter: kwargs.interrupt_after }),
      },
      host,
      run,
      state: head.state,
      step: head.metadata?.step ?? 0,
      position,
      turnsTaken,
    });
  };
}

/** Tools by what decides about them. Schemas are made once: a run must not pay for them. */
function toolSets(sandbox: SandboxPort): (switches: RunSwitches) => readonly AnyTool[] {
  const of = (vision: boolean, clarification: boolean) => leadTools({ sandbox }, { vision, clarification });
  const asking = [of(false, true), of(true, true)] as const;
  const silent = [of(false, false), of(true, false)] as const;
  return ({ vision, clarification }) => (clarification ? asking : silent)[vision ? 1 : 0];
}

interface Offered {
  readonly tools: readonly AnyTool[];
  readonly toolSearch: unknown;
}

function promptFacts(
  { context, clock }: RunContext,
  switches: RunSwitches,
  { tools, toolSearch }: Offered,
): PromptFacts {
  const { agent_name: agentName } = context;
  const hidden = toolSearch === undefined ? [] : tools.filter(({ deferred }) => deferred !== undefined);
  const deferredTools = deferredToolsSection(hidden.map(({ name }) => name));
  return {
    toolNames: tools.map(({ name }) => name),
    nowMs: clock.now(),
    ...(switches.planMode ? { planGuide: TODO_PROMPT } : {}),
    ...(deferredTools === undefined ? {} : { deferredTools }),
    ...(agentName === undefined ? {} : { agentName }),
  };
}

/** What a cancelled run still leaves: a title, so that its thread can be found again. */
export const afterCancel =
  (config: Pick<Config, 'title'>) =>
  (state: ThreadState): StateUpdate | undefined => {
    const title = titleWithoutAnswer(state, config.title);
    return title === undefined ? undefined : { title };
  };

/** A switch that the model does not have is not an error: the run goes on without it. */
function tellIgnored({ context, logger }: RunContext, model: ModelPort): void {
  if (context.thinking_enabled !== true || model.supportsThinking) return;
  logger.warn({ event: 'switch.ignored', model: model.name }, 'thinking_enabled: the model does not think');
}

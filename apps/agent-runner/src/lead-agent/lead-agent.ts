import { buildSystemPrompt, runAgent } from '@caribou/agent';
import type { CommandRulesConfig, RunnerConfig, TitleConfig } from '@caribou/config';
import type { ConversionStore, ModelCatalog, SandboxPort } from '@caribou/core';
import { leadChain, type TitleOptions } from '@caribou/middleware';
import { leadTools } from '@caribou/tools';
import type { AgentLoop } from '../runs/run-executor.js';

export interface LeadAgentPorts {
  readonly models: ModelCatalog;
  readonly sandbox: SandboxPort;
  readonly conversions: Pick<ConversionStore, 'read'>;
}

export interface LeadAgentOptions {
  readonly runner: RunnerConfig;
  readonly title: TitleConfig;
  readonly commandRules: CommandRulesConfig;
}

/**
 * The lead agent: tools, chain and prompt put together per run from the run's switches and the configuration.
 *
 * @returns a loop that throws InvalidRequestError when the run names an unknown model.
 */
export function leadAgent(ports: LeadAgentPorts, options: LeadAgentOptions): AgentLoop {
  const toolsFor = {
    reading: leadTools({ sandbox: ports.sandbox }, { vision: false }),
    seeing: leadTools({ sandbox: ports.sandbox }, { vision: true }),
  };
  return ({ host, run, claimed, head, position }) => {
    const { kwargs, llm_call_count: turnsTaken } = claimed.run;
    const agentName = run.context.agent_name;
    const model = ports.models.get(run.context.model_name);
    const vision = model.supportsVision;
    const tools = vision ? toolsFor.seeing : toolsFor.reading;
    return runAgent({
      chain: leadChain(
        { sandbox: ports.sandbox, conversions: ports.conversions },
        { title: titleOptions(options.title, ports.models), commands: options.commandRules, vision },
      ),
      tools,
      model,
      systemPrompt: buildSystemPrompt({
        toolNames: tools.map((tool) => tool.name),
        nowMs: run.clock.now(),
        ...(agentName === undefined ? {} : { agentName }),
      }),
      options: {
        maxTurns: Math.min(kwargs.recursion_limit, options.runner.maxTurnsCap),
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

function titleOptions(config: TitleConfig, models: ModelCatalog): TitleOptions {
  return {
    enabled: config.enabled,
    maxWords: config.maxWords,
    maxChars: config.maxChars,
    ...(config.modelName === null ? {} : { model: models.get(config.modelName) }),
  };
}

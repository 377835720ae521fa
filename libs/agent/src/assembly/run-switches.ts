import type { RunContextValues } from '@caribou/contracts';
import type { ChainConfig } from '@caribou/config';
import type { ModelPort } from '@caribou/core';
import { type SubagentLimits, subagentLimits } from '@caribou/middleware';

/** The switches of a request, resolved with the configuration and the model. */
export interface RunSwitches {
  /** Whether the model reads images. */
  readonly vision: boolean;
  readonly planMode: boolean;
  readonly subagents: boolean;
  /** Maximum number of `task` calls of one answer that are executed. */
  readonly maxConcurrentSubagents: number;
  /** Maximum number of `task` calls of one run that are executed. */
  readonly maxTotalSubagents: number;
  /** Whether the agent has the tool that asks the user. */
  readonly clarification: boolean;
}

export function switchesOf(
  context: RunContextValues,
  config: Pick<ChainConfig, 'clarification'> & { readonly subagents: SubagentLimits & { readonly enabled: boolean } },
  model: Pick<ModelPort, 'supportsVision'>,
): RunSwitches {
  const { subagents, clarification } = config;
  const limits = subagentLimits(subagents, context);
  return {
    vision: model.supportsVision,
    planMode: context.is_plan_mode ?? false,
    subagents: subagents.enabled && (context.subagent_enabled ?? false),
    maxConcurrentSubagents: limits.concurrent,
    maxTotalSubagents: limits.total,
    clarification: clarification.enabled && context.non_interactive !== true,
  };
}

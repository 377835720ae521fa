import type { RunContextValues } from '@caribou/contracts';
import type { ChainConfig } from '@caribou/config';
import type { ModelPort } from '@caribou/core';
import { type SubagentLimits, subagentLimits } from '@caribou/middleware';

/** What a request's switches come to with this configuration and model. */
export interface RunSwitches {
  /** The model reads images. */
  readonly vision: boolean;
  readonly planMode: boolean;
  readonly subagents: boolean;
  /** `task` calls of one answer that are carried out. */
  readonly maxConcurrentSubagents: number;
  /** `task` calls of one run that are carried out. */
  readonly maxTotalSubagents: number;
  /** The agent has the tool to ask the person with. */
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

import type { RunContextValues } from '@caribou/contracts';
import type { ChainConfig } from '@caribou/config';
import type { ModelPort } from '@caribou/core';

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

/** Bounds of the two limits, as DeerFlow has them. */
const MAX_CONCURRENT = 4;
const MAX_TOTAL = 50;

export function switchesOf(
  context: RunContextValues,
  config: Pick<ChainConfig, 'subagents' | 'clarification'>,
  model: Pick<ModelPort, 'supportsVision'>,
): RunSwitches {
  const { subagents, clarification } = config;
  return {
    vision: model.supportsVision,
    planMode: context.is_plan_mode ?? false,
    subagents: context.subagent_enabled ?? false,
    maxConcurrentSubagents: clamped(context.max_concurrent_subagents ?? subagents.max_concurrent, MAX_CONCURRENT),
    maxTotalSubagents: clamped(context.max_total_subagents ?? subagents.max_total_per_run, MAX_TOTAL),
    clarification: clarification.enabled && context.non_interactive !== true,
  };
}

const clamped = (asked: number, max: number): number => Math.min(max, Math.max(1, Math.floor(asked)));

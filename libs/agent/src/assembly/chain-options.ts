import type { Config } from '@caribou/config';
import type { AnyTool, ModelCatalog } from '@caribou/core';
import type { ChainOptions } from '@caribou/middleware';
import type { RunSwitches } from './run-switches.js';

/** The sections of the configuration for the chain. */
export type ChainSettings = Pick<Config, 'chain' | 'title' | 'commandRules'>;

/** The settings of a run for its chain. */
export interface RunParts {
  readonly switches: RunSwitches;
  /** The model for titles and summaries. */
  readonly models: ModelCatalog;
  /** The agent's own tools. */
  readonly tools: readonly AnyTool[];
}

/** Combines the configuration and a run's switches into options of the chain. */
export function chainOptions(config: ChainSettings, { switches, models, tools }: RunParts) {
  const { vision, planMode, subagents, clarification } = switches;
  return {
    config: { ...config.chain, title: config.title },
    commands: config.commandRules,
    vision,
    planMode,
    subagents,
    clarification,
    models,
    tools,
  } satisfies ChainOptions;
}

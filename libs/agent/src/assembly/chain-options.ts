import type { Config } from '@caribou/config';
import type { AnyTool, ModelCatalog } from '@caribou/core';
import type { ChainOptions } from '@caribou/middleware';
import type { RunSwitches } from './run-switches.js';

/** The part of the configuration that the chain is made from. */
export type ChainSettings = Pick<Config, 'chain' | 'title' | 'commandRules'>;

/** What a run brings to its chain. */
export interface RunParts {
  readonly switches: RunSwitches;
  /** For titles and summaries. */
  readonly models: ModelCatalog;
  /** The agent's own tools. */
  readonly tools: readonly AnyTool[];
}

/** What the configuration and a run's switches decide about the chain. */
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

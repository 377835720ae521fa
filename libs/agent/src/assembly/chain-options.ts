import type { Config } from '@caribou/config';
import type { ModelCatalog } from '@caribou/core';
import type { ChainOptions } from '@caribou/middleware';
import type { RunSwitches } from './run-switches.js';

/** The part of the configuration that the chain is made from. */
export type ChainSettings = Pick<Config, 'chain' | 'title' | 'commandRules'>;

/**
 * What the configuration and a run's switches make of the chain.
 *
 * @throws {InvalidRequestError} when the configuration names a model that `models` does not have.
 */
export function chainOptions(config: ChainSettings, switches: RunSwitches, models: ModelCatalog): ChainOptions {
  const { chain, title, commandRules } = config;
  return {
    vision: switches.vision,
    commands: commandRules,
    memory: chain.memory,
    title: {
      enabled: title.enabled,
      maxWords: title.maxWords,
      maxChars: title.maxChars,
      ...(title.modelName === null ? {} : { model: models.get(title.modelName) }),
    },
  };
}

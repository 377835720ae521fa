import { ConfigError, type ModelConfig } from '@caribou/config';
import type { ModelModule } from '@caribou/core';
import { CustomModel } from './custom-types.js';
import { loadExport, type LoadOptions } from './load-export.js';

/**
 * Loads the operator's modules that answer for models, by the names of the models.
 *
 * @throws {ConfigError} with a line for each that cannot be used, with its model and the reason
 */
export async function loadModels(
  models: readonly Pick<ModelConfig, 'name' | 'module'>[],
  options: LoadOptions = {},
): Promise<ReadonlyMap<string, ModelModule>> {
  const loaded = new Map<string, ModelModule>();
  const faults: string[] = [];
  for (const { name, module } of models) {
    if (module === undefined) continue;
    const made = await loadExport({ use: module.use, options: module.options.reveal() }, options);
    if ('value' in made && made.value instanceof CustomModel) loaded.set(name, made.value.module);
    else faults.push(`models: "${name}" (${module.shown}): ${'fault' in made ? made.fault : NO_MODEL}`);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return loaded;
}

const NO_MODEL = 'the export must return what defineModel gives';

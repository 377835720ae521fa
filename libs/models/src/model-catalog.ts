import type { ModelConfig } from '@caribou/config';
import { BugError, InvalidRequestError, omitUndefined, UnavailableError } from '@caribou/contracts';
import type { ModelCatalog, ModelModule, ModelPort } from '@caribou/core';
import { messages } from './anthropic/messages.js';
import { chatCompletions } from './chat/chat-completions.js';
import { createHttpModel, type ModelOptions, type OpenProtocol } from './http/http-model.js';
import { createModuleModel } from './module/module-model.js';
import { responses } from './responses/responses.js';

const protocols: Readonly<Record<Exclude<ModelConfig['protocol'], 'module'>, OpenProtocol>> = {
  chat_completions: chatCompletions,
  responses,
  messages,
};

export interface CatalogOptions extends ModelOptions {
  /** The operator's modules by the names of their models. */
  readonly modules?: ReadonlyMap<string, ModelModule>;
}

/**
 * Creates the configured models by name, each with its own connections.
 *
 * @throws {BugError} for duplicate names, which the configuration refuses earlier
 */
export function createModelCatalog(models: readonly ModelConfig[], options: CatalogOptions): ModelCatalog {
  const alone = new Map<string, ModelPort>(models.map((model) => [model.name, createModel(model, options)]));
  const byName = new Map(models.map((model) => [model.name, withFallbacks(model, alone)]));
  if (byName.size !== models.length) throw new BugError('two models have the same name');
  const names = models.map(({ name }) => name);
  return {
    names,
    get: (name) => {
      const wanted = name ?? names[0];
      if (wanted === undefined)
        throw new UnavailableError('no model is configured', { details: { dependency: 'model' } });
      const model = byName.get(wanted);
      if (model !== undefined) return model;
      throw new InvalidRequestError(
        `unknown model "${wanted.slice(0, 200)}"; known models: ${names.join(', ') || 'none'}`,
        {
          details: { field: 'model_name', known: names },
        },
      );
    },
  };
}

/** The model with its settings. @throws {BugError} when the module of a model was not loaded */
function createModel(model: ModelConfig, options: CatalogOptions): ModelPort {
  const { temperature, maxTokens, pricing } = model;
  return { ...openModel(model, options), ...omitUndefined({ temperature, maxTokens, pricing }) };
}

function openModel(model: ModelConfig, options: CatalogOptions): ModelPort {
  if (model.protocol !== 'module') return createHttpModel(model, options, protocols[model.protocol]);
  const module = options.modules?.get(model.name);
  if (module === undefined) throw new BugError(`the module of the model "${model.name}" was not loaded`);
  return createModuleModel(model, module, options);
}

/** The model with its fallbacks, which have none of their own. @throws {BugError} for an unknown name */
function withFallbacks({ name, fallbacks }: ModelConfig, alone: ReadonlyMap<string, ModelPort>): ModelPort {
  const find = (wanted: string): ModelPort => {
    const found = alone.get(wanted);
    if (found === undefined) throw new BugError(`there is no model "${wanted}"`);
    return found;
  };
  return fallbacks.length === 0 ? find(name) : { ...find(name), fallbacks: fallbacks.map(find) };
}

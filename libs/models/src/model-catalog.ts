import type { ModelConfig } from '@caribou/config';
import { BugError, InvalidRequestError, UnavailableError } from '@caribou/contracts';
import type { ModelCatalog, ModelPort } from '@caribou/core';
import { chatCompletions } from './chat/chat-completions.js';
import { createHttpModel, type ModelOptions, type OpenProtocol } from './http/http-model.js';

const protocols: Readonly<Record<ModelConfig['protocol'], OpenProtocol>> = { chat_completions: chatCompletions };

/**
 * Creates the configured models by name, each with its own connections.
 *
 * @throws {BugError} for duplicate names, which the configuration refuses earlier
 */
export function createModelCatalog(models: readonly ModelConfig[], options: ModelOptions): ModelCatalog {
  const byName = new Map<string, ModelPort>(
    models.map((model) => [model.name, createHttpModel(model, options, protocols[model.protocol])]),
  );
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

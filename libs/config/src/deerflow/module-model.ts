import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { omitUndefined } from '@caribou/contracts';
import type { z } from 'zod';
import { MODULE_EXPORT } from '../common/module-export.js';
import { Secret } from '../common/secret.js';
import type { ModelFile } from '../schema/model-schema.js';
import type { ModelConfig } from '../settings/config.js';
import { commonFields } from './to-model.js';

/** Keys of an entry that concern the product alone; all others are handed to the module. */
const OWN_KEYS: ReadonlySet<string> = new Set([
  ...['name', 'display_name', 'description', 'use', 'protocol', 'dialect', 'fallbacks', 'pricing', 'max_input_tokens'],
  ...[
    'supports_thinking',
    'supports_vision',
    'supports_reasoning_effort',
    'send_reasoning',
    'max_tokens',
    'temperature',
  ],
]);

/** Whether the entry's `use` is a model in a module of the operator. */
export const isModule = (use: string): boolean => MODULE_EXPORT.test(use);

/**
 * Builds the model of an entry with a module.
 *
 * @param resolved the entry with its references replaced
 * @param folder absolute path of the folder of config.yaml
 */
export function toModuleModel(
  entry: z.output<typeof ModelFile> & { readonly use: string },
  resolved: Readonly<Record<string, unknown>>,
  folder: string,
): ModelConfig {
  const use = resolve(folder, entry.use);
  const common = commonFields(entry);
  const given = Object.fromEntries(Object.entries(resolved).filter(([key]) => !OWN_KEYS.has(key)));
  const options = { ...given, model: common.model };
  return {
    ...common,
    protocol: 'module',
    dialect: 'generic',
    baseUrl: entry.base_url ?? pathToFileURL(use).href,
    sendReasoning: false,
    headers: {},
    body: {},
    module: { use, shown: basename(use), options: new Secret(options) },
    ...omitUndefined({ apiKey: entry.api_key === undefined ? undefined : new Secret(entry.api_key) }),
  };
}

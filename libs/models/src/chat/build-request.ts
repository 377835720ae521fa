import type { ModelConfig } from '@caribou/config';
import { isRecord, omitUndefined } from '@caribou/contracts';
import { memoize, type ModelCall } from '@caribou/core';
import { endpointOf } from '../http/endpoint.js';
import { thinkingFields } from '../http/thinking-fields.js';
import type { Dialect } from './dialects/dialect.js';
import { dialects } from './dialects/dialects.js';
import { type ProviderMessage, toProvider } from './to-provider.js';

/** The body of one request for a streamed answer. */
export interface ProviderRequest {
  readonly model: string;
  readonly messages: readonly ProviderMessage[];
  readonly stream: true;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Builds the request for a call: fields of the dialect, configured fields, then those of the call, then the thinking switch, which
 * overrides them as in DeerFlow's model factory (`models/factory.py`).
 *
 * @throws {InvalidRequestError} when thinking is requested of a model that has the switch but does not support it
 */
export function buildRequest(model: ModelConfig, call: ModelCall): ProviderRequest {
  const dialect = dialects[model.dialect];
  const merged: Fields = {
    ...dialect.fields,
    ...configuredFields(model, dialect),
    ...model.body,
    ...callFields(model, dialect, call),
    ...thinkingFields(model, call.thinkingEnabled ?? false),
  };
  const { reasoning_effort: configuredEffort, ...fields } = merged;
  const effort = call.reasoningEffort ?? configuredEffort;
  return {
    ...withStreamOptions(fields, dialect),
    ...(effort !== undefined && allowsEffort(model, fields) ? { reasoning_effort: effort } : {}),
    model: model.model,
    messages: toProvider(call.system, call.messages, {
      dialect,
      endpoint: endpointOf(model),
      sendReasoning: model.sendReasoning,
      inlineReasoning: merged['reasoning_split'] === false,
    }),
    ...tools(call),
    ...(call.answerFormat === undefined || !dialect.jsonMode ? {} : { response_format: { type: 'json_object' } }),
    stream: true,
  };
}

const toProviderTool = memoize(({ name, description, parameters }: ModelCall['tools'][number]) => ({
  type: 'function',
  function: { name, description, parameters },
}));

/** The configured `extra_body` chooses the name of the limit. */
const maxFieldOf = ({ body }: ModelConfig, { maxTokensField }: Dialect): string =>
  ['max_tokens', 'max_completion_tokens'].find((name) => typeof body[name] === 'number') ?? maxTokensField;

/** Fields of the call that override the configuration. */
function callFields(model: ModelConfig, dialect: Dialect, { temperature, maxTokens }: ModelCall): Fields {
  const field = maxFieldOf(model, dialect);
  const configured = [model.maxTokens, model.body[field]].filter((value) => typeof value === 'number');
  return {
    ...(maxTokens === undefined ? {} : { [field]: Math.min(maxTokens, ...configured) }),
    ...omitUndefined({ temperature }),
  };
}

function configuredFields(model: ModelConfig, dialect: Dialect): Fields {
  const { maxTokens, temperature } = model;
  return {
    ...(maxTokens === undefined ? {} : { [maxFieldOf(model, dialect)]: maxTokens }),
    ...omitUndefined({ temperature }),
  };
}

/** The configured `extra_body` may have other `stream_options`; null leaves them out. */
function withStreamOptions({ stream_options: configured, ...fields }: Fields, dialect: Dialect): Fields {
  if (configured === null || (configured === undefined && !dialect.streamOptions)) return fields;
  return { ...fields, stream_options: configured ?? { include_usage: true } };
}

/** Gemini refuses `reasoning_effort` next to a `thinking_config`. */
function allowsEffort({ supportsReasoningEffort }: ModelConfig, { extra_body: extra }: Fields): boolean {
  const google = isRecord(extra) ? extra['google'] : undefined;
  return supportsReasoningEffort && !(isRecord(google) && 'thinking_config' in google);
}

function tools({ tools: offered, toolChoice }: ModelCall): Fields {
  if (offered.length === 0) return {};
  return {
    tools: offered.map(toProviderTool),
    ...omitUndefined({ tool_choice: toolChoice }),
  };
}

import type { ModelConfig } from '@caribou/config';
import { InvalidRequestError, isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelCall } from '@caribou/core';
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
 * Builds the request for a call: configured fields, then those of the call, then the thinking switch, which overrides them
 * as in DeerFlow's model factory (`models/factory.py`).
 *
 * @throws {InvalidRequestError} when thinking is requested of a model that has the switch but does not support it
 */
export function buildRequest(model: ModelConfig, call: ModelCall): ProviderRequest {
  const merged: Fields = {
    ...toConfiguredFields(model),
    ...model.body,
    ...callFields(model, call),
    ...thinkingFields(model, call.thinkingEnabled ?? false),
  };
  const effort = call.reasoningEffort ?? merged['reasoning_effort'];
  const { reasoning_effort: _replaced, ...fields } = merged;
  return {
    ...fields,
    ...(effort !== undefined && model.supportsReasoningEffort ? { reasoning_effort: effort } : {}),
    model: model.model,
    messages: toProvider(call.system, call.messages, { sendReasoning: model.sendReasoning }),
    ...tools(call),
    ...(call.answerFormat === undefined ? {} : { response_format: { type: 'json_object' } }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/**
 * Encodes a request as JSON. Tools are most of it and the same in nearly all requests, so each tool is serialized once; they
 * follow the other fields.
 */
export function encodeRequest({ tools: offered, ...fields }: ProviderRequest): Buffer {
  const json = JSON.stringify(fields);
  if (!Array.isArray(offered))
    return Buffer.from(offered === undefined ? json : withTools(json, JSON.stringify(offered)));
  return Buffer.from(withTools(json, `[${offered.map(toolJson).join(',')}]`));
}

const withTools = (json: string, tools: string): string => `${json.slice(0, -1)},"tools":${tools}}`;

const toolJson = (tool: unknown): string => (isRecord(tool) ? jsonOfTool(tool) : JSON.stringify(tool));

/** Wraps a function of immutable objects, so that it computes the value of each object once. */
function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = compute(key);
    values.set(key, value);
    return value;
  };
}

const toProviderTool = memoize(({ name, description, parameters }: ModelCall['tools'][number]) => ({
  type: 'function',
  function: { name, description, parameters },
}));

const jsonOfTool = memoize((tool: Fields) => JSON.stringify(tool));

/** OpenAI's own endpoint renamed max_tokens; others only support the old name. */
const maxFieldOf = ({ baseUrl }: ModelConfig): string =>
  new URL(baseUrl).hostname === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens';

/** Fields of the call that override the configuration. */
function callFields(model: ModelConfig, { temperature, maxTokens }: ModelCall): Fields {
  const field = maxFieldOf(model);
  const configured = [model.maxTokens, model.body[field]].filter((value) => typeof value === 'number');
  return {
    ...(maxTokens === undefined ? {} : { [field]: Math.min(maxTokens, ...configured) }),
    ...omitUndefined({ temperature }),
  };
}

function toConfiguredFields(model: ModelConfig): Fields {
  const { maxTokens, temperature } = model;
  return {
    ...(maxTokens === undefined ? {} : { [maxFieldOf(model)]: maxTokens }),
    ...omitUndefined({ temperature }),
  };
}

function tools({ tools: offered, toolChoice }: ModelCall): Fields {
  if (offered.length === 0) return {};
  return {
    tools: offered.map(toProviderTool),
    ...omitUndefined({ tool_choice: toolChoice }),
  };
}

function thinkingFields(model: ModelConfig, enabled: boolean): Fields {
  const block = model.whenThinkingEnabled;
  if (!enabled && model.whenThinkingDisabled !== undefined) return flattenExtras(model.whenThinkingDisabled);
  if (block === undefined) return {};
  if (!enabled) return disableThinking(block);
  if (model.supportsThinking) return flattenExtras(block);
  throw new InvalidRequestError(
    `model "${model.name}" does not support thinking: set supports_thinking in its configuration`,
  );
}

/** Moves the contents of `extra_body` and `model_kwargs` to the top of the body, as LangChain's client class does. */
function flattenExtras({ extra_body: extra, model_kwargs: further, ...fields }: Fields): Fields {
  return { ...fields, ...(isRecord(further) ? further : {}), ...(isRecord(extra) ? extra : {}) };
}

/** Returns the fields that switch thinking off, in the same form in which the block switches it on. */
function disableThinking(block: Fields): Fields {
  const extra = isRecord(block['extra_body']) ? block['extra_body'] : {};
  const off = { thinking: { type: 'disabled' } };
  if (isRecord(extra['thinking']) && 'type' in extra['thinking']) return { ...off, reasoning_effort: 'minimal' };
  if (isRecord(block['thinking']) && 'type' in block['thinking']) return off;
  if (typeof extra['enable_thinking'] === 'boolean') return { enable_thinking: false };
  const template = extra['chat_template_kwargs'];
  if (!isRecord(template)) return {};
  const switches = Object.entries(template).map(([name, value]) => [
    name,
    /^(enable_)?thinking$/.test(name) ? false : value,
  ]);
  return { chat_template_kwargs: Object.fromEntries(switches) as Fields };
}

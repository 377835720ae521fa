import { createHash } from 'node:crypto';
import type { ModelConfig } from '@caribou/config';
import { isFromClient, isRecord, omitUndefined } from '@caribou/contracts';
import { memoize, type ModelCall } from '@caribou/core';
import type {
  FunctionTool,
  ResponseCreateParamsStreaming,
  ResponseIncludable,
  Tool,
} from 'openai/resources/responses/responses';
import { originOf } from '../http/endpoint.js';
import { thinkingFields } from '../http/thinking-fields.js';
import { withResponsesNames } from './responses-fields.js';
import { toInput } from './to-input.js';

type Params = ResponseCreateParamsStreaming;
type Fields = Readonly<Record<string, unknown>>;

const ENCRYPTED: ResponseIncludable = 'reasoning.encrypted_content';
/** Least `max_output_tokens` of the API reference, November 2026. */
const MIN_OUTPUT_TOKENS = 16;

/**
 * Builds the request for a call: configured fields, then those of the call, then the thinking switch. Nothing is stored at
 * the provider, so all of the conversation is in each request.
 *
 * @throws {InvalidRequestError} when thinking is requested of a model that has the switch but does not support it
 */
export function buildRequest(model: ModelConfig, call: ModelCall): Params {
  const body = withResponsesNames(model.body);
  const thinking = thinkingOf(model, call.thinkingEnabled ?? false);
  const reasons = model.supportsThinking || model.supportsReasoningEffort || body['reasoning'] !== undefined;
  const ofCall = { ...lengthOf(model, body, call), ...temperatureOf(model, call, reasons) };
  const merged: Fields = { ...body, ...ofCall, ...thinking };
  const { reasoning_effort: effort, ...fields } = merged;
  return {
    ...(cachesByKey(model) ? cacheKey(call) : {}),
    ...fields,
    ...reasoningOf(
      [body['reasoning'], thinking['reasoning']],
      model.supportsReasoningEffort ? (call.reasoningEffort ?? effort) : undefined,
    ),
    ...includeOf(fields, reasons),
    ...textOf(fields, call),
    model: model.model,
    input: toInput(call.system, call.messages, originOf(model)),
    ...toolsOf(fields, call),
    store: false,
    stream: true,
  };
}

/**
 * The thinking switch. Without `when_thinking_disabled`, the model's own effort applies while thinking is off, because the efforts
 * that turn reasoning off differ between models.
 */
function thinkingOf(model: ModelConfig, enabled: boolean): Fields {
  const { reasoning, ...fields } = withResponsesNames(thinkingFields(model, enabled));
  return reasoning === undefined || (!enabled && model.whenThinkingDisabled === undefined)
    ? fields
    : { ...fields, reasoning };
}

/** The longest answer: of the call and the configuration the shorter one. */
function lengthOf(
  model: ModelConfig,
  { max_output_tokens: ofBody }: Fields,
  { maxTokens }: ModelCall,
): Pick<Params, 'max_output_tokens'> {
  const limits = [maxTokens, ofBody ?? model.maxTokens].filter((limit) => typeof limit === 'number');
  return limits.length === 0 ? {} : { max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, Math.min(...limits)) };
}

/** Models that reason refuse a temperature, so that of a call is sent to those only whose entry has one. */
function temperatureOf(
  { temperature: ofEntry, body }: ModelConfig,
  { temperature: ofCall }: ModelCall,
  reasons: boolean,
): Pick<Params, 'temperature'> {
  const configured = typeof body['temperature'] === 'number' ? body['temperature'] : ofEntry;
  return omitUndefined({ temperature: reasons && configured === undefined ? undefined : (ofCall ?? configured) });
}

/** The configured blocks, of which a later one replaces fields of an earlier one, with the effort of the call. */
function reasoningOf(blocks: readonly unknown[], effort: unknown): Pick<Params, 'reasoning'> {
  const configured = blocks.reduce<Fields>((all, block) => ({ ...all, ...(isRecord(block) ? block : {}) }), {});
  const reasoning = effort === undefined ? configured : { ...configured, effort };
  return Object.keys(reasoning).length === 0 ? {} : { reasoning };
}

/** Models without reasoning refuse encrypted content ("Encrypted content is not supported with this model"). */
function includeOf({ include }: Fields, reasons: boolean): Pick<Params, 'include'> {
  const configured = Array.isArray(include) ? (include as ResponseIncludable[]) : [];
  const included = reasons ? [...new Set([...configured, ENCRYPTED])] : configured;
  return included.length === 0 ? {} : { include: included };
}

function textOf({ text }: Fields, { answerFormat }: ModelCall): Pick<Params, 'text'> {
  if (answerFormat === undefined) return {};
  return { text: { ...(isRecord(text) ? text : {}), format: { type: 'json_object' } } };
}

/** Tools of the provider from the configuration, such as its web search, and those of the call. */
function toolsOf({ tools }: Fields, { tools: offered, toolChoice }: ModelCall): Pick<Params, 'tools' | 'tool_choice'> {
  const all = [...(Array.isArray(tools) ? (tools as Tool[]) : []), ...offered.map(toFunctionTool)];
  if (all.length === 0) return {};
  return { tools: all, ...omitUndefined({ tool_choice: toolChoice }) };
}

/** Without `strict: false` the endpoint rewrites schemas for its strict mode ("Function calling" guide, November 2026). */
const toFunctionTool = memoize(
  ({ name, description, parameters }: ModelCall['tools'][number]): FunctionTool => ({
    type: 'function',
    name,
    description,
    parameters,
    strict: false,
  }),
);

const cachesByKey = ({ dialect }: ModelConfig): boolean => dialect === 'openai' || dialect === 'azure';

/**
 * The key by which requests of a thread reach the machine that has their prefix cached: requests of all threads begin alike,
 * and one machine takes some 15 a minute ("Prompt caching" guide of OpenAI, November 2026). Other servers may not know the
 * field.
 */
function cacheKey({ messages }: ModelCall): Pick<Params, 'prompt_cache_key'> {
  const first = messages.find(isFromClient);
  if (first === undefined) return {};
  return { prompt_cache_key: createHash('sha256').update(first.id).digest('hex').slice(0, 32) };
}

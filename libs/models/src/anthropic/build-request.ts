import type { AnthropicConfig, ModelConfig } from '@caribou/config';
import { isRecord, omitUndefined } from '@caribou/contracts';
import { memoize, type ModelCall } from '@caribou/core';
import type { AnswerOrigin } from '../http/endpoint.js';
import { isThinking } from './assistant-blocks.js';
import { cacheControlOf, markSystem, markTurns } from './cache-breakpoints.js';
import { effortOf } from './effort.js';
import type { MessagesRequest, OpaqueBlock, ToolDefinition, Turn } from './request-types.js';
import { type ThinkingSwitch, thinkingOf } from './thinking.js';
import { type Conversation, toConversation } from './turns.js';

type Fields = Readonly<Record<string, unknown>>;

export interface RequestOptions {
  readonly model: ModelConfig;
  readonly anthropic: AnthropicConfig;
  readonly origin: AnswerOrigin;
}

/**
 * Builds the request for a call: configured fields, then those of the thinking switch, then those of the call. `answerFormat` has no
 * field: the provider's structured outputs need a schema, and the prompt asks for JSON anyway.
 *
 * @throws {InvalidRequestError} see `thinkingOf` and `effortOf`
 */
export function buildRequest(options: RequestOptions, call: ModelCall): MessagesRequest<OpaqueBlock> {
  const { model, anthropic } = options;
  const maxTokens = maxTokensOf(options, call);
  const wanted = thinkingOf(model, anthropic, call, maxTokens);
  const conversation = conversationOf(options, call, wanted.thinks);
  const switched =
    anthropic.thinking === 'budget' && isWithinPlainAnswer(conversation.turns) ? withoutBudget(wanted) : wanted;
  const mark = cacheControlOf(anthropic);
  const system = markSystem(conversation.system, mark);
  return {
    ...bodyFields(options, call, switched),
    model: model.model,
    max_tokens: maxTokens,
    stream: true,
    ...(switched.thinking === undefined
      ? {}
      : { thinking: switched.thinking as NonNullable<MessagesRequest['thinking']> }),
    ...toolFields(call, conversation.turns),
    ...(system.length === 0 ? {} : { system }),
    messages: markTurns(conversation.turns, mark),
  };
}

function conversationOf({ anthropic, origin }: RequestOptions, call: ModelCall, sendThinking: boolean): Conversation {
  return toConversation(call.system, call.messages, {
    origin,
    sendThinking,
    systemMessages: anthropic.systemMessages,
  });
}

/**
 * Whether the answer under way began without thoughts, and is continued with results: with a budget the endpoint refuses to think
 * there, for instance behind an answer of another model (page "Extended thinking", platform.claude.com, November 2026).
 */
function isWithinPlainAnswer(turns: readonly Turn<OpaqueBlock>[]): boolean {
  const question = turns.findLastIndex((turn) => turn.role === 'user' && !hasResults(turn));
  const isContinued = turns.length - 1 > question;
  const answer = turns.slice(question + 1).find(({ role }) => role === 'assistant');
  const first = answer?.role === 'assistant' ? answer.content[0] : undefined;
  return isContinued && first !== undefined && !isThinking(first);
}

const hasResults = ({ content }: Turn<OpaqueBlock>): boolean => content.some(({ type }) => type === 'tool_result');

const withoutBudget = ({ thinking, ...switched }: ThinkingSwitch): ThinkingSwitch =>
  thinking?.['type'] === 'enabled' ? { ...switched, thinks: false } : { ...switched, ...omitUndefined({ thinking }) };

function maxTokensOf({ model, anthropic }: RequestOptions, { maxTokens }: ModelCall): number {
  const configured = model.body['max_tokens'];
  const limit = typeof configured === 'number' ? configured : (model.maxTokens ?? anthropic.defaultMaxTokens);
  return maxTokens === undefined ? limit : Math.min(maxTokens, limit);
}

/** Fields that are written elsewhere, or are no fields of the body. */
const OWN_FIELDS = new Set([
  ...['betas', 'effort', 'max_tokens', 'messages', 'model', 'output_config', 'reasoning_effort', 'stream', 'system'],
  ...['temperature', 'thinking', 'tool_choice', 'tools', 'top_k', 'top_p'],
]);

function bodyFields(
  { model, anthropic }: RequestOptions,
  call: ModelCall,
  { thinks, thinking, fields }: ThinkingSwitch,
): Fields {
  const merged: Fields = { ...model.body, ...fields };
  const output: Fields = isRecord(merged['output_config']) ? merged['output_config'] : {};
  const isOff = thinking !== undefined && !thinks;
  const wantedEffort =
    (model.supportsReasoningEffort ? call.reasoningEffort : undefined) ??
    merged['effort'] ??
    merged['reasoning_effort'] ??
    output['effort'] ??
    (call.thinkingEnabled !== true && anthropic.thinkingOff === 'always_on' ? 'low' : undefined);
  const outputConfig = omitUndefined({ ...output, effort: effortOf(wantedEffort, anthropic, isOff) });
  return {
    ...Object.fromEntries(Object.entries(merged).filter(([name]) => !OWN_FIELDS.has(name))),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
    ...samplingFields(
      { temperature: model.temperature, ...merged, ...omitUndefined({ temperature: call.temperature }) },
      anthropic,
      thinks,
    ),
  };
}

/** Newer models refuse sampling parameters, older ones while they think, and those in between a temperature with `top_p`. */
function samplingFields(fields: Fields, { sampling }: AnthropicConfig, thinks: boolean): Fields {
  if (!sampling || thinks) return {};
  const { temperature, top_k: topK, top_p: topP } = fields;
  return omitUndefined({ temperature, top_k: topK, top_p: temperature === undefined ? topP : undefined });
}

/** A conversation with calls needs definitions of tools, also when the call offers none. */
function toolFields({ tools, toolChoice }: ModelCall, turns: readonly Turn<OpaqueBlock>[]) {
  if (tools.length > 0) {
    return {
      tools: tools.map(toDefinition),
      ...(toolChoice === undefined ? {} : { tool_choice: { type: toolChoice } }),
    };
  }
  const names = new Set(
    turns.flatMap((turn) =>
      turn.role === 'assistant' ? turn.content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])) : [],
    ),
  );
  if (names.size === 0) return {};
  const used = [...names].map((name): ToolDefinition => ({ name, input_schema: { type: 'object' } }));
  return { tools: used, tool_choice: { type: 'none' as const } };
}

/** Tools never change, so each is converted once, and its JSON is written once. */
const toDefinition = memoize(
  ({ name, description, parameters }: ModelCall['tools'][number]): ToolDefinition => ({
    name,
    description,
    input_schema: { ...parameters, type: 'object' },
  }),
);

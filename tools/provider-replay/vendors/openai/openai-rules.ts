import { type PairingFault, pairingFault } from '../../chat/pairing.js';
import type { Refusal } from '../../framework/refusal.js';
import { refuse } from './openai-errors.js';
import type { OpenaiChatRequest } from './openai-request.js';

/** Models that reason before they answer: o1, o3, o4 and gpt-5, but not the chat variants of gpt-5. */
const REASONING_MODEL = /^(o\d|gpt-5(?!.*chat))/;
/** Models in whose requests `stop` is not supported. */
const REFUSED_OF_REASONING = [
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'stop',
] as const;

export const isReasoningModel = (model: string): boolean => REASONING_MODEL.test(model);

/**
 * The rules beyond the shape.
 *
 * @throws Refusal
 */
export function checkOpenaiRules(request: OpenaiChatRequest): void {
  checkOptions(request);
  if (isReasoningModel(request.model)) checkReasoningModel(request);
  checkMessages(request);
}

function checkOptions(request: OpenaiChatRequest): void {
  if (request.stream_options && request.stream !== true) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
    throw refuse('option needs another', message, { param: 'stream_options' });
  }
  if (request.max_tokens && request.max_completion_tokens) {
    const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
    throw refuse('option excludes another', message, { code: 'invalid_parameter_combination' });
  }
  if (request.tools !== undefined) return;
  for (const key of ['tool_choice', 'parallel_tool_calls'] as const) {
    if (request[key] === undefined) continue;
    throw refuse(
      'option needs another',
      `Invalid value for '${key}': '${key}' is only allowed when 'tools' are specified.`,
      {
        param: key,
      },
    );
  }
}

function checkReasoningModel(request: OpenaiChatRequest): void {
  if (request.max_tokens) {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    throw refuse('max_tokens of a reasoning model', message, { param: 'max_tokens', code: 'unsupported_parameter' });
  }
  for (const key of ['temperature', 'top_p'] as const) {
    const value = request[key] ?? 1;
    if (value === 1) continue;
    const message = `Unsupported value: '${key}' does not support ${value} with this model. Only the default (1) value is supported.`;
    throw refuse('sampling of a reasoning model', message, { param: key, code: 'unsupported_value' });
  }
  for (const key of REFUSED_OF_REASONING) {
    if ((request[key] ?? undefined) === undefined) continue;
    const message = `Unsupported parameter: '${key}' is not supported with this model.`;
    throw refuse('sampling of a reasoning model', message, { param: key, code: 'unsupported_parameter' });
  }
}

function checkMessages({ messages }: OpenaiChatRequest): void {
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'assistant' || message.tool_calls !== undefined) continue;
    if ((message.content ?? null) !== null || message.refusal || message.audio) continue;
    const text = `Invalid value for 'content': expected a string, got null.`;
    throw refuse('empty assistant message', text, { param: `messages.[${at}].content` });
  }
  const fault = pairingFault(messages);
  if (fault !== undefined) throw pairingRefusal(fault);
}

/** OpenAI's messages for tool calls and tool results that do not fit. */
export function pairingRefusal(fault: PairingFault): Refusal {
  const param = `messages.[${fault.at}].role`;
  switch (fault.fault) {
    case 'unanswered': {
      const text =
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${fault.ids.join(', ')}`;
      return refuse('tool results', text, { param });
    }
    case 'orphan': {
      const text =
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      return refuse('tool results', text, { param });
    }
    case 'duplicate': {
      const text = `Duplicate value for 'tool_call_id' of '${fault.id}' in message[${fault.at}]`;
      return refuse('tool results', text, { param: `messages.[${fault.at}].tool_calls` });
    }
  }
}

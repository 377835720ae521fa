import { type PairingFault, pairingFault } from '../../chat/pairing.js';
import type { Refusal } from '../../framework/refusal.js';
import { refuse } from './openai-errors.js';
import type { OpenaiChatRequest } from './openai-request.js';

/** Models that reason before they answer: o1, o3, o4, gpt-5 and later, but not the chat variants. */
const REASONING_MODEL = /^(o\d|gpt-([5-9]|\d\d)(?!.*chat))/;
/** Later ones reason only as far as `reasoning_effort` says, and take the options of sampling without it. */
const OPTIONAL_REASONING = /^gpt-(5\.[1-9]|[6-9]|\d\d)/;
const SAMPLING = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 } as const;
const REFUSED_WHILE_REASONING = ['logprobs', 'top_logprobs', 'logit_bias'] as const;

/**
 * The rules beyond the shape.
 *
 * @throws Refusal
 */
export function checkOpenaiRules(request: OpenaiChatRequest): void {
  checkOptions(request);
  if (REASONING_MODEL.test(request.model)) checkReasoningModel(request);
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
  if (request.stop) throw unsupported('stop');
  if (OPTIONAL_REASONING.test(request.model) && (request.reasoning_effort ?? 'none') === 'none') return;
  checkSampling(request);
}

function checkSampling(request: OpenaiChatRequest): void {
  for (const key of ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] as const) {
    const value = request[key] ?? SAMPLING[key];
    if (value === SAMPLING[key]) continue;
    const message = `Unsupported value: '${key}' does not support ${value} with this model. Only the default (${SAMPLING[key]}) value is supported.`;
    throw refuse('sampling of a reasoning model', message, { param: key, code: 'unsupported_value' });
  }
  for (const key of REFUSED_WHILE_REASONING) {
    if (request[key]) throw unsupported(key);
  }
}

function unsupported(param: string): Refusal {
  const message = `Unsupported parameter: '${param}' is not supported with this model.`;
  return refuse('sampling of a reasoning model', message, { param, code: 'unsupported_parameter' });
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

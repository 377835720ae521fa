import { hasCalls, textOfContent } from '../../chat/conversation.js';
import type { IssuedReasoning } from '../../chat/issued-reasoning.js';
import { pairingFault } from '../../chat/pairing.js';
import { pairingRefusal, refuse } from './kimi-errors.js';
import { alwaysThinks, isThinking, type KimiChatRequest } from './kimi-request.js';

/** @throws Refusal */
export function checkKimiRules(request: KimiChatRequest, issued: IssuedReasoning): void {
  checkSampling(request);
  checkThinkingOptions(request);
  checkContents(request);
  checkPartial(request);
  const fault = pairingFault(request.messages);
  if (fault !== undefined) throw pairingRefusal(fault);
  if (isThinking(request)) checkReasoning(request, issued);
}

/** The kimi models have fixed values of sampling, which differ with thinking; the moonshot ones have not. */
function checkSampling(request: KimiChatRequest): void {
  if (!request.model.startsWith('kimi-')) return;
  const fixed = {
    temperature: isThinking(request) ? 1 : 0.6,
    top_p: 0.95,
    n: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
  };
  for (const key of ['temperature', 'top_p', 'n', 'presence_penalty', 'frequency_penalty'] as const) {
    const value = request[key] ?? fixed[key];
    if (value !== fixed[key]) {
      throw refuse('sampling of a kimi model', `invalid ${key}: only ${fixed[key]} is allowed for this model`);
    }
  }
}

function checkThinkingOptions(request: KimiChatRequest): void {
  if (alwaysThinks(request.model) && request.thinking?.type === 'disabled') {
    throw refuse('thinking', 'invalid thinking: only type=enabled is allowed for this model');
  }
  const choice = request.tool_choice;
  if (!isThinking(request) || !choice || choice === 'auto' || choice === 'none') return;
  const which = choice === 'required' ? "'required'" : 'specified';
  throw refuse('tool_choice with thinking', `tool_choice ${which} is incompatible with thinking enabled`);
}

function checkContents({ messages }: KimiChatRequest): void {
  for (const [at, message] of messages.entries()) {
    if (hasCalls(message) || message.role === 'tool') continue;
    if (textOfContent(message.content) !== '' || Array.isArray(message.content)) continue;
    const text = `Invalid request: the message at position ${at} with role '${message.role}' must not be empty`;
    throw refuse('empty message', text);
  }
}

/** Partial mode is for the last message, which is the assistant's, and not with JSON mode. */
function checkPartial({ messages, response_format }: KimiChatRequest): void {
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'assistant' || message.partial !== true) continue;
    if (at < messages.length - 1)
      throw refuse('partial', 'Invalid request: partial is only allowed in the last assistant message');
    if (response_format?.type === 'json_object') {
      throw refuse('partial', 'Invalid request: partial mode cannot be used with response_format json_object');
    }
  }
}

function checkReasoning({ messages }: KimiChatRequest, issued: IssuedReasoning): void {
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'assistant' || !hasCalls(message)) continue;
    const text = message.reasoning_content ?? undefined;
    if (text === undefined || issued.contradicts(message.tool_calls ?? [], text)) {
      throw refuse(
        'reasoning_content',
        `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`,
      );
    }
  }
}

/**
 * Types only; nothing of Caribou is imported when this runs.
 *
 * @typedef {import('../../libs/extensions/src/index.js').ModelCall} ModelCall
 * @typedef {import('../../libs/extensions/src/index.js').Message} Message
 * @typedef {Extract<Message, { type: 'ai' }>} AiMessage
 * @typedef {Extract<Message, { type: 'tool' }>} ToolMessage
 * @typedef {(content: Message['content']) => string} TextOf
 * @typedef {import('@ai-sdk/provider').LanguageModelV3Message} PromptMessage
 * @typedef {import('@ai-sdk/provider').LanguageModelV3FilePart} FilePart
 * @typedef {import('@ai-sdk/provider').SharedV3ProviderOptions} ProviderOptions
 */

/**
 * Converts a call of Caribou to a prompt of the AI SDK.
 *
 * @param {Pick<ModelCall, 'system' | 'messages'>} call
 * @param {TextOf} textOf
 * @returns {PromptMessage[]}
 */
export function toPrompt({ system, messages }, textOf) {
  const toolNames = new Map(messages.flatMap(callsOf).map(({ id, name }) => [id, name]));
  /** @type {PromptMessage[]} */
  const first = system === '' ? [] : [{ role: 'system', content: system }];
  return [...first, ...messages.flatMap((message) => toMessage(message, textOf, toolNames))];
}

/**
 * @param {ModelCall['tools']} tools
 * @returns {import('@ai-sdk/provider').LanguageModelV3FunctionTool[]}
 */
export const toTools = (tools) =>
  tools.map(({ name, description, parameters }) => ({ type: 'function', name, description, inputSchema: parameters }));

/** @param {Message} message */
const callsOf = (message) => (message.type === 'ai' ? [...message.tool_calls, ...message.invalid_tool_calls] : []);

/**
 * @param {Message} message
 * @param {TextOf} textOf
 * @param {ReadonlyMap<string, string>} toolNames names of tools by the id of the call
 * @returns {PromptMessage[]}
 */
function toMessage(message, textOf, toolNames) {
  switch (message.type) {
    case 'system':
      return [{ role: 'system', content: textOf(message.content) }];
    case 'human':
      return [{ role: 'user', content: userParts(message.content, textOf) }];
    case 'tool':
      return [{ role: 'tool', content: [toolResult(message, textOf, toolNames)] }];
    case 'ai':
      return toAnswer(message, textOf);
  }
}

/**
 * @param {Message['content']} content
 * @param {TextOf} textOf
 */
function userParts(content, textOf) {
  const images = typeof content === 'string' ? [] : content.flatMap(imagePart);
  const text = textOf(content);
  return text === '' && images.length > 0 ? images : [/** @type {const} */ ({ type: 'text', text }), ...images];
}

/**
 * @param {string | { type: string, image_url?: any }} block
 * @returns {FilePart[]}
 */
function imagePart(block) {
  if (typeof block === 'string' || block.type !== 'image_url') return [];
  const url = String(block.image_url?.url ?? block.image_url);
  const [, mediaType, base64] = /^data:(image\/[\w.+-]+);base64,(.*)$/s.exec(url) ?? [];
  if (mediaType !== undefined && base64 !== undefined) return [{ type: 'file', mediaType, data: base64 }];
  return [{ type: 'file', mediaType: 'image/*', data: new URL(url) }];
}

/**
 * @param {ToolMessage} message
 * @param {TextOf} textOf
 * @param {ReadonlyMap<string, string>} toolNames
 * @returns {import('@ai-sdk/provider').LanguageModelV3ToolResultPart}
 */
function toolResult({ tool_call_id: toolCallId, content, status }, textOf, toolNames) {
  const type = status === 'error' ? 'error-text' : 'text';
  const toolName = toolNames.get(toolCallId) ?? 'unknown';
  return { type: 'tool-result', toolCallId, toolName, output: { type, value: textOf(content) } };
}

/**
 * Gives the provider what it gave with an earlier answer, such as signatures of thoughts.
 *
 * @param {AiMessage} message
 * @param {TextOf} textOf
 * @returns {PromptMessage[]}
 */
function toAnswer(message, textOf) {
  const extras = message.provider_extras;
  const thoughts = /** @type {{ text: string, metadata: ProviderOptions }[]} */ (extras?.message ?? []);
  const calls = /** @type {Readonly<Record<string, ProviderOptions>>} */ (extras?.calls ?? {});
  const text = textOf(message.content);
  /** @type {Extract<PromptMessage, { role: 'assistant' }>['content']} */
  const content = thoughts.map(({ text: thought, metadata }) => ({
    type: 'reasoning',
    text: thought,
    providerOptions: metadata,
  }));
  if (text !== '') content.push({ type: 'text', text });
  for (const { id, name, args } of callsOf(message)) {
    const input = typeof args === 'string' ? {} : args;
    const own = calls[id] === undefined ? {} : { providerOptions: calls[id] };
    content.push({ type: 'tool-call', toolCallId: id, toolName: name, input, ...own });
  }
  return content.length === 0 ? [] : [{ role: 'assistant', content }];
}

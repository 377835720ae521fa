/**
 * Types only; nothing of Caribou is imported when this runs.
 *
 * @typedef {import('../../libs/extensions/src/index.js').ModuleDelta} ModuleDelta
 * @typedef {import('@ai-sdk/provider').LanguageModelV3StreamPart} StreamPart
 * @typedef {import('@ai-sdk/provider').SharedV3ProviderMetadata} ProviderMetadata
 */

/**
 * Caribou's names for finish reasons of the AI SDK that differ.
 *
 * @type {Readonly<Record<string, string>>}
 */
const FINISH = { 'tool-calls': 'tool_calls', 'content-filter': 'content_filter' };

/** Converts the parts of one answer of the AI SDK to deltas of Caribou. */
export class DeltaReader {
  /** Index by the id of the call. @type {Map<string, number>} */
  #indexes = new Map();
  /** Calls whose arguments were streamed. @type {Set<string>} */
  #streamed = new Set();
  /** Thoughts with metadata, which the provider wants back. @type {{ text: string, metadata: ProviderMetadata }[]} */
  #thoughts = [];
  #thought = '';

  /**
   * @param {StreamPart} part
   * @returns {ModuleDelta | undefined}
   */
  read(part) {
    switch (part.type) {
      case 'text-delta':
        return { text: part.delta };
      case 'reasoning-delta':
        this.#thought += part.delta;
        return { reasoning: part.delta };
      case 'reasoning-end':
        return this.#endThought(part.providerMetadata);
      case 'tool-input-start':
        return this.#callDelta(part.id, { name: part.toolName });
      case 'tool-input-delta':
        this.#streamed.add(part.id);
        return this.#callDelta(part.id, { args: part.delta });
      case 'tool-call':
        return this.#wholeCall(part);
      case 'response-metadata':
        return part.modelId === undefined ? undefined : { metadata: { model_name: part.modelId } };
      case 'finish':
        return finish(part);
      default:
        return undefined;
    }
  }

  /** @param {string} id */
  #indexOf(id) {
    const index = this.#indexes.get(id) ?? this.#indexes.size;
    this.#indexes.set(id, index);
    return index;
  }

  /**
   * @param {string} id
   * @param {{ name?: string, args?: string }} piece
   * @returns {ModuleDelta}
   */
  #callDelta(id, piece) {
    return { toolCalls: [{ index: this.#indexOf(id), id, ...piece }] };
  }

  /**
   * @param {Extract<StreamPart, { type: 'tool-call' }>} part
   * @returns {ModuleDelta}
   */
  #wholeCall({ toolCallId, toolName, input, providerMetadata }) {
    const delta = this.#callDelta(toolCallId, this.#streamed.has(toolCallId) ? {} : { name: toolName, args: input });
    if (providerMetadata === undefined) return delta;
    return { ...delta, extras: { calls: { [this.#indexOf(toolCallId)]: providerMetadata } } };
  }

  /**
   * @param {ProviderMetadata | undefined} metadata
   * @returns {ModuleDelta | undefined}
   */
  #endThought(metadata) {
    const text = this.#thought;
    this.#thought = '';
    if (metadata === undefined) return undefined;
    this.#thoughts.push({ text, metadata });
    return { extras: { message: [...this.#thoughts] } };
  }
}

/**
 * @param {Extract<StreamPart, { type: 'finish' }>} part
 * @returns {ModuleDelta}
 */
function finish({ finishReason: { unified }, usage: { inputTokens: input, outputTokens: output } }) {
  const end = { finishReason: FINISH[unified] ?? unified };
  if (input.total === undefined || output.total === undefined) return end;
  const usage = {
    inputTokens: input.total,
    outputTokens: output.total,
    ...(input.cacheRead === undefined ? {} : { cachedInputTokens: input.cacheRead }),
    ...(input.cacheWrite === undefined ? {} : { cacheWriteTokens: input.cacheWrite }),
    ...(output.reasoning === undefined ? {} : { reasoningTokens: output.reasoning }),
  };
  return { ...end, usage };
}

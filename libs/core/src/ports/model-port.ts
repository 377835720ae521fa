import type { Message, ToolCallChunk } from '@caribou/contracts';
import type { TokenPrices } from '../usage/call-cost.js';
import type { CallOf, ModelEndpoint } from './model-gate.js';

/** A tool as described to a model. It never changes, so that models can serialize it once. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelCall {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ModelTool[];
  readonly toolChoice?: 'auto' | 'none';
  readonly thinkingEnabled?: boolean;
  readonly reasoningEffort?: string;
  /** Overrides the configured temperature. */
  readonly temperature?: number;
  /** Maximum tokens of the answer; a lower configured limit still applies. */
  readonly maxTokens?: number;
  /** Requests exactly one JSON object from the provider. The prompt must mention JSON. */
  readonly answerFormat?: 'json';
}

/** One piece of a streamed answer. Tool-call ids are the provider's; the loop mints its own. */
export interface ModelDelta {
  readonly content?: string;
  readonly reasoning?: string;
  readonly toolCallChunks?: readonly ToolCallChunk[];
  /**
   * LangChain's usage_metadata; at most one delta of an answer has it. `input_tokens` include those of
   * `input_token_details` (`cache_read`, `cache_creation`), `output_tokens` those of `output_token_details` (`reasoning`).
   */
  readonly usage?: Readonly<Record<string, unknown>> & {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly total_tokens: number;
  };
  readonly finishReason?: string;
  readonly responseMetadata?: Readonly<Record<string, unknown>>;
  readonly extras?: AnswerExtras;
  /** Configured name of the fallback that answers in place of the model that was called; with the usage. */
  readonly answeredBy?: string;
}

/**
 * What the provider requires back with this answer (`ProviderExtras`). Over the deltas of an answer, fields of `message` and of
 * each call are merged, a later value replaces an earlier one, and `parts` are appended.
 */
export interface AnswerExtras {
  readonly message?: unknown;
  /** By the index of the call in this answer, as in `toolCallChunks`. */
  readonly calls?: Readonly<Record<number, unknown>>;
  /** Items of the provider; `{ text: n }` for the next n UTF-16 units of the content, `{ call: index }` for a call. */
  readonly parts?: readonly unknown[];
}

/** A model by its configured name. */
export interface ModelPort {
  readonly name: string;
  readonly endpoint: ModelEndpoint;
  /** Name of the provider's variant of the protocol; the protocol's own name when it has no variants. */
  readonly dialect: string;
  readonly supportsVision: boolean;
  readonly supportsThinking: boolean;
  /** Size of the context window in tokens; undefined when it is not configured. */
  readonly maxInputTokens?: number;
  /** As configured; a call's own value replaces the temperature, and only lowers the maximum. */
  readonly temperature?: number;
  readonly maxTokens?: number;
  /** Absent: its calls are counted and cost nothing. */
  readonly pricing?: TokenPrices;
  /** Models that answer when this one cannot, in order. Their own fallbacks are not used. */
  readonly fallbacks?: readonly ModelPort[];
  /**
   * Streams one answer.
   *
   * @throws {ModelError} while iterating: refused, cut (no finish reason), silent past a clock, or malformed;
   *   `retryable`, `details.reason`, `details.providerStatus`, `details.retryAfterMs` describe the failure. Rejects
   *   with the signal's reason when aborted, and closes the connection then.
   */
  stream(call: ModelCall, options: CallOf): AsyncIterable<ModelDelta>;
}

export interface ModelCatalog {
  /** Names in the order of the config; the first is the default. */
  readonly names: readonly string[];
  /** @throws {InvalidRequestError} naming the unknown model and the known ones. */
  get(name: string | undefined): ModelPort;
}

import type { AnswerExtras, ModelCall } from './model-port.js';

/** One piece of an answer of a module. */
export interface ModuleDelta {
  readonly text?: string;
  readonly reasoning?: string;
  /** Pieces of tool calls; the argument texts of one index, joined, are a JSON object. */
  readonly toolCalls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly name?: string;
    readonly args?: string;
  }[];
  /** Tokens of the whole answer, in one delta. Cached and written ones are part of `inputTokens`. */
  readonly usage?: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cachedInputTokens?: number;
    readonly cacheWriteTokens?: number;
    readonly reasoningTokens?: number;
  };
  /** `stop`, `tool_calls`, `length`, `content_filter` or another reason; an answer without one was cut. */
  readonly finishReason?: string;
  readonly extras?: AnswerExtras;
  /** Fields of `response_metadata`, such as `model_name`. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
}

/** A model in the operator's code. Its deltas are checked and bounded by libs/models, which does not trust the type. */
export interface ModelModule {
  stream(call: ModelCall, options: { readonly signal: AbortSignal }): AsyncIterable<ModuleDelta>;
}

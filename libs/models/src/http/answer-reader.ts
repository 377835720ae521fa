import type { ModelDelta } from '@caribou/core';

/** The content of one event of the provider's stream. */
export type ParsedChunk =
  | { readonly kind: 'delta'; readonly delta: ModelDelta }
  | { readonly kind: 'nothing' }
  /** The answer is over; a protocol whose last event says so does not depend on the end of the body. */
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'malformed' };

/** Parses the events of one answer in order. Each protocol has its own; it is used for one answer. */
export interface AnswerReader {
  /** Whether the answer is complete: only one with a finish reason is. */
  readonly isFinished: boolean;
  read(chunk: unknown): ParsedChunk;
  /** The last delta of a finished answer: finish reason, usage, metadata, and text or extras that were held back. */
  last(): ModelDelta;
}

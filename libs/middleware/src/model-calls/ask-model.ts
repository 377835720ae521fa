import { ModelError } from '@caribou/contracts';
import {
  type CallUsage,
  callUsage,
  type ModelCall,
  type ModelPort,
  type RunContext,
  stripReasoning,
} from '@caribou/core';

/** Why there is no answer: it came too late, the call failed, or a filter of the provider stopped it. */
export type AskFailure = 'late' | 'failed' | 'filtered';

export interface Answer {
  /** The answer without reasoning; empty when the model failed, took too long, was filtered or returned nothing. */
  readonly text: string;
  /** Token usage, if the provider reported it, also of a failed call; at most one entry for one call. */
  readonly usage: readonly CallUsage[];
  /** Absent when the model answered, even if the answer is empty. */
  readonly failure?: AskFailure;
}

export interface AskOptions {
  readonly run: RunContext;
  readonly timeoutMs: number;
  /** Maximum UTF-16 units of the answer; the rest is dropped. */
  readonly maxChars: number;
}

/**
 * Requests a complete answer for a middleware, without streaming it to clients. A failure is logged and gives an empty
 * answer.
 *
 * @throws the run's signal's reason when the run was aborted.
 */
export async function askModel(model: ModelPort, call: ModelCall, options: AskOptions): Promise<Answer> {
  const { run, timeoutMs, maxChars } = options;
  const late = AbortSignal.timeout(timeoutMs);
  let text = '';
  let finish: string | undefined;
  let usage: readonly CallUsage[] = [];
  const withoutAnswer = (failure: AskFailure): Answer => ({ text: '', usage, failure });
  try {
    const signal = AbortSignal.any([run.signal, late]);
    for await (const delta of model.stream(call, { userId: run.userId, signal })) {
      text += (delta.content ?? '').slice(0, maxChars - text.length);
      finish = delta.finishReason ?? finish;
      const { usage: reported, answeredBy = model.name } = delta;
      if (reported !== undefined) usage = [callUsage({ caller: 'middleware', model: answeredBy }, reported)];
    }
    run.signal.throwIfAborted();
    if (finish === 'content_filter') return withoutAnswer('filtered');
    return { text: stripReasoningAndTrim(text), usage };
  } catch (error) {
    run.signal.throwIfAborted();
    if (!late.aborted && !(error instanceof ModelError)) throw error;
    run.logger.warn({ model: model.name, error }, 'a model call of a middleware failed');
    return withoutAnswer(late.aborted ? 'late' : 'failed');
  }
}

/** Removes reasoning that a provider leaves in the content, and surrounding space. */
export const stripReasoningAndTrim = (text: string): string => stripReasoning(text).trim();

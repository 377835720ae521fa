import { ModelError } from '@caribou/contracts';
import { type CallUsage, type ModelCall, type ModelPort, type RunContext, stripReasoning } from '@caribou/core';

export interface Answer {
  /** Without its thinking; empty when the model failed, took too long, was filtered or said nothing. */
  readonly text: string;
  /** What the call cost, if the provider told, also of one that failed. */
  readonly usage?: CallUsage;
}

export interface AskOptions {
  readonly run: RunContext;
  readonly timeoutMs: number;
  /** Most UTF-16 units read of the answer; more is dropped. */
  readonly maxChars: number;
}

/**
 * A whole answer for a middleware's own purpose: nothing of it is streamed to clients. A failure is logged and is an
 * empty answer.
 *
 * @throws the run's signal's reason when the run was aborted.
 */
export async function askModel(model: ModelPort, call: ModelCall, options: AskOptions): Promise<Answer> {
  const { run, timeoutMs, maxChars } = options;
  const late = AbortSignal.timeout(timeoutMs);
  let text = '';
  let finish: string | undefined;
  let usage: CallUsage | undefined;
  const answerOf = (words: string): Answer => ({ text: words, ...(usage === undefined ? {} : { usage }) });
  try {
    for await (const delta of model.stream(call, { signal: AbortSignal.any([run.signal, late]) })) {
      text += (delta.content ?? '').slice(0, maxChars - text.length);
      finish = delta.finishReason ?? finish;
      usage = delta.usage === undefined ? usage : usageOf(model, delta.usage);
    }
    run.signal.throwIfAborted();
    return answerOf(finish === 'content_filter' ? '' : withoutThinking(text));
  } catch (error) {
    run.signal.throwIfAborted();
    if (!late.aborted && !(error instanceof ModelError)) throw error;
    run.logger.warn({ model: model.name, error }, 'a model asked by a middleware failed');
    return answerOf('');
  }
}

const usageOf = (
  model: ModelPort,
  {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
  }: { readonly input_tokens: number; readonly output_tokens: number },
): CallUsage => ({ caller: 'middleware', model: model.name, inputTokens, outputTokens });

/** Thinking that a provider leaves in the content; an unclosed thought is all thought. */
export const withoutThinking = (text: string): string => stripReasoning(text).trim();

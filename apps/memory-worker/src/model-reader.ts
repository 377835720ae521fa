import { ModelError } from '@caribou/contracts';
import type { ModelCall, ModelCatalog, ModelPort } from '@caribou/core';
import { type Extraction, readAnswer } from '@caribou/memory';
import type { Metrics } from '@caribou/observability';

export interface ModelReaderOptions {
  /** Models whose calls pass the gate. */
  readonly models: ModelCatalog;
  /** null: the default model. */
  readonly modelName: string | null;
  /** Longest call. */
  readonly timeoutMs: number;
  readonly metrics: Pick<Metrics, 'modelTokens'>;
}

const MAX_ANSWER_CHARS = 200_000;

/** Asks the configured model what a conversation changes in a memory. */
export class ModelReader {
  /** Models at endpoints that refuse the wish for JSON; asking them in words is enough. */
  private readonly wordsOnly = new Set<string>();

  constructor(private readonly options: ModelReaderOptions) {}

  /**
   * @throws {ModelError} when the model failed, took too long or answered what is no change of a memory: `details.reason`
   * @throws {UnavailableError} when no model is configured
   * @throws the signal's reason
   */
  async read(call: ModelCall, signal: AbortSignal): Promise<Extraction> {
    const model = this.options.models.get(this.options.modelName ?? undefined);
    const { answerFormat: _json, ...plain } = call;
    if (this.wordsOnly.has(model.name)) return readAnswer(await this.ask(model, plain, signal));
    try {
      return readAnswer(await this.ask(model, call, signal));
    } catch (error) {
      if (!(error instanceof ModelError) || error.details['reason'] !== 'bad_request') throw error;
      const extraction = readAnswer(await this.ask(model, plain, signal));
      this.wordsOnly.add(model.name);
      return extraction;
    }
  }

  private async ask(model: ModelPort, call: ModelCall, signal: AbortSignal): Promise<string> {
    const late = AbortSignal.timeout(this.options.timeoutMs);
    try {
      return await this.answerOf(model, call, AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      if (!late.aborted) throw error;
      throw new ModelError('the model took too long to read a conversation', {
        details: { reason: 'timeout', afterMs: this.options.timeoutMs },
        cause: error,
      });
    }
  }

  private async answerOf(model: ModelPort, call: ModelCall, signal: AbortSignal): Promise<string> {
    const { metrics } = this.options;
    let text = '';
    let finish: string | undefined;
    for await (const delta of model.stream(call, { signal })) {
      text += delta.content ?? '';
      if (text.length > MAX_ANSWER_CHARS) throw unusable('too_large');
      finish = delta.finishReason ?? finish;
      if (delta.usage === undefined) continue;
      metrics.modelTokens('input', delta.usage.input_tokens);
      metrics.modelTokens('output', delta.usage.output_tokens);
    }
    signal.throwIfAborted();
    // What was cut may lack facts, or say half of one.
    if (finish === 'length' || finish === 'content_filter') throw unusable(finish);
    return text;
  }
}

const unusable = (reason: string): ModelError =>
  new ModelError(`the model's reading of a conversation is of no use: ${reason}`, { details: { reason } });

import { ModelError } from '@caribou/contracts';
import { callUsage, type ModelCall, type ModelCatalog, type ModelPort, type ThreadKey } from '@caribou/core';
import { type Extraction, parseExtraction } from '@caribou/memory';
import type { Metrics } from '@caribou/observability';
import type { UsageLedger } from '@caribou/state';

export interface ExtractionModelOptions {
  /** Models whose calls are limited by the shared model gate. */
  readonly models: ModelCatalog;
  /** Name of the model; null means the default model. */
  readonly modelName: string | null;
  /** Maximum duration of a model call, in milliseconds. */
  readonly timeoutMs: number;
  readonly metrics: Pick<Metrics, 'modelTokens'>;
  readonly ledger: Pick<UsageLedger, 'add'>;
}

/** Under what usage shows these calls. */
const AGENT = 'memory';

/** For whom a model is called, and until when. */
export interface Asking {
  readonly thread: ThreadKey;
  readonly signal: AbortSignal;
}

const MAX_ANSWER_CHARS = 200_000;

/** Extracts the changes of a memory from a conversation with the configured model. */
export class ExtractionModel {
  /** Models whose endpoints refuse JSON mode; for them the prompt alone asks for JSON. */
  private readonly withoutJsonMode = new Set<string>();

  constructor(private readonly options: ExtractionModelOptions) {}

  /**
   * @throws {ModelError} when the call fails, times out or has an invalid answer; see `details.reason`
   * @throws {UnavailableError} when no model is configured
   * @throws the signal's reason
   */
  async extract(call: ModelCall, asking: Asking): Promise<Extraction> {
    const model = this.options.models.get(this.options.modelName ?? undefined);
    const { answerFormat: _json, ...plain } = call;
    if (this.withoutJsonMode.has(model.name)) return parseExtraction(await this.ask(model, plain, asking));
    try {
      return parseExtraction(await this.ask(model, call, asking));
    } catch (error) {
      if (!(error instanceof ModelError) || error.details['reason'] !== 'bad_request') throw error;
      const extraction = parseExtraction(await this.ask(model, plain, asking));
      this.withoutJsonMode.add(model.name);
      return extraction;
    }
  }

  private async ask(model: ModelPort, call: ModelCall, { thread, signal }: Asking): Promise<string> {
    const timeout = AbortSignal.timeout(this.options.timeoutMs);
    try {
      return await this.answerOf(model, call, { thread, signal: AbortSignal.any([signal, timeout]) });
    } catch (error) {
      signal.throwIfAborted();
      if (!timeout.aborted) throw error;
      throw new ModelError('the model call for memory extraction timed out', {
        details: { reason: 'timeout', afterMs: this.options.timeoutMs },
        cause: error,
      });
    }
  }

  private async answerOf(model: ModelPort, call: ModelCall, { thread, signal }: Asking): Promise<string> {
    const { metrics, ledger } = this.options;
    let text = '';
    let finish: string | undefined;
    for await (const delta of model.stream(call, { userId: thread.userId, signal })) {
      text += delta.content ?? '';
      if (text.length > MAX_ANSWER_CHARS) throw createUnusableAnswerError('too_large');
      finish = delta.finishReason ?? finish;
      if (delta.usage === undefined) continue;
      metrics.modelTokens('input', delta.usage.input_tokens);
      metrics.modelTokens('output', delta.usage.output_tokens);
      // Each call was paid for, also one whose answer cannot be used or whose result another worker writes.
      await ledger.add(thread, AGENT, [
        callUsage({ caller: 'middleware', model: delta.answeredBy ?? model.name }, delta.usage),
      ]);
    }
    signal.throwIfAborted();
    // A truncated answer may lack facts or contain half of one.
    if (finish === 'length' || finish === 'content_filter') throw createUnusableAnswerError(finish);
    return text;
  }
}

const createUnusableAnswerError = (reason: string): ModelError =>
  new ModelError(`the answer of the model cannot be used for memory extraction: ${reason}`, { details: { reason } });

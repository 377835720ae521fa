import { InvalidRequestError, ModelError, type SuggestionsRequest, UnavailableError } from '@caribou/contracts';
import { callUsage, type Logger, type ModelCall, type ModelCatalog, type ThreadKey } from '@caribou/core';
import type { Payer, ThreadStore, UsageLedger } from '@caribou/state';
import type { Metrics } from '@caribou/observability';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { readSuggestions } from './read-suggestions.js';
import { createSuggestionCall } from './suggestion-call.js';

/** Concurrent calls of one user at one gateway; a web client sends one after each run. */
const MAX_AT_ONCE = 2;
const MAX_ANSWER_CHARS = 20_000;

/** Under what usage shows these calls. */
const AGENT = 'suggestions';

interface Question {
  readonly call: ModelCall;
  readonly payer: Payer;
}

/** Follow-up questions. They are optional: when the model fails, the answer is an empty list. */
@Injectable()
export class SuggestionsService {
  /** Number of running calls by user. */
  private readonly asking = new Map<string, number>();

  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread'>,
    @Dependency('models') private readonly models: ModelCatalog,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'suggestions'>,
    @Dependency('metrics') private readonly metrics: Pick<Metrics, 'modelTokens'>,
    @Dependency('usageLedger') private readonly ledger: Pick<UsageLedger, 'add' | 'isSpent'>,
    @Dependency('logger') private readonly logger: Logger,
  ) {}

  /** @throws {NotFoundError} for an unknown thread */
  async suggest(
    thread: ThreadKey,
    { messages, n, model_name }: SuggestionsRequest,
    apiKey?: string,
  ): Promise<readonly string[]> {
    await this.threads.getThread(thread);
    const payer = { ...thread, apiKey };
    const { enabled, maxSuggestions, modelName } = this.settings.suggestions;
    const count = Math.min(n ?? maxSuggestions, maxSuggestions);
    const call = enabled ? createSuggestionCall(messages, count) : null;
    if (call === null || (await this.ledger.isSpent(payer))) return [];
    const under = this.asking.get(thread.userId) ?? 0;
    if (under >= MAX_AT_ONCE) return [];
    this.asking.set(thread.userId, under + 1);
    try {
      return readSuggestions(await this.ask(modelName ?? model_name ?? undefined, { call, payer }), count);
    } catch (error) {
      if (!isOfModel(error)) throw error;
      this.logger.warn({ event: 'suggestions', outcome: 'error', threadId: thread.threadId, error }, 'no suggestions');
      return [];
    } finally {
      this.release(thread.userId);
    }
  }

  private release(userId: string): void {
    const left = (this.asking.get(userId) ?? 1) - 1;
    if (left === 0) this.asking.delete(userId);
    else this.asking.set(userId, left);
  }

  private async ask(name: string | undefined, question: Question): Promise<string> {
    const late = AbortSignal.timeout(this.settings.suggestions.timeoutMs);
    try {
      return await this.answerOf(name, question, late);
    } catch (error) {
      if (!late.aborted) throw error;
      throw new ModelError('the model took too long to propose questions', {
        details: { reason: 'timeout', afterMs: this.settings.suggestions.timeoutMs },
        cause: error,
      });
    }
  }

  private async answerOf(name: string | undefined, { call, payer }: Question, signal: AbortSignal): Promise<string> {
    let text = '';
    const model = this.models.get(name);
    for await (const delta of model.stream(call, { userId: payer.userId, signal })) {
      text += delta.content ?? '';
      if (text.length > MAX_ANSWER_CHARS)
        throw new ModelError('the answer is too long for a few questions', { details: { reason: 'too_large' } });
      if (delta.usage === undefined) continue;
      this.metrics.modelTokens('input', delta.usage.input_tokens);
      this.metrics.modelTokens('output', delta.usage.output_tokens);
      await this.ledger.add(payer, AGENT, [
        callUsage({ caller: 'middleware', model: delta.answeredBy ?? model.name }, delta.usage),
      ]);
    }
    return text;
  }
}

/** Whether the model failed, is unreachable or is not configured; all other errors are faults of this server. */
const isOfModel = (error: unknown): boolean =>
  error instanceof ModelError || error instanceof InvalidRequestError || error instanceof UnavailableError;

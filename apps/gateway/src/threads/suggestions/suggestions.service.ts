import { InvalidRequestError, ModelError, type SuggestionsRequest, UnavailableError } from '@caribou/contracts';
import type { Logger, ModelCall, ThreadKey } from '@caribou/core';
import type { Payer, ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { SingleCalls } from '../../models/single-calls.js';
import type { GatewaySettings } from '../../settings.js';
import { readSuggestions } from './read-suggestions.js';
import { createSuggestionCall } from './suggestion-call.js';

/** Concurrent calls of one user at one gateway; a web client sends one after each run. */
const MAX_AT_ONCE = 2;
const MAX_ANSWER_CHARS = 20_000;

/** Under what usage shows these calls. */
const AGENT = 'suggestions';

/** Follow-up questions. They are optional: when the model fails, the answer is an empty list. */
@Injectable()
export class SuggestionsService {
  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'suggestions'>,
    @Dependency('logger') private readonly logger: Logger,
    private readonly calls: SingleCalls,
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
    if (call === null || (await this.calls.isSpent(payer))) return [];
    try {
      const ask = (): Promise<string> => this.ask(modelName ?? model_name ?? undefined, call, payer);
      const answer = await this.calls.withLimit(MAX_AT_ONCE, thread.userId, AGENT, ask);
      return answer === undefined ? [] : readSuggestions(answer, count);
    } catch (error) {
      if (!isOfModel(error)) throw error;
      this.logger.warn({ event: 'suggestions', outcome: 'error', threadId: thread.threadId, error }, 'no suggestions');
      return [];
    }
  }

  private ask(name: string | undefined, call: ModelCall, payer: Payer): Promise<string> {
    const { timeoutMs } = this.settings.suggestions;
    return this.calls.ask(name, { call, payer, agent: AGENT, timeoutMs, maxChars: MAX_ANSWER_CHARS });
  }
}

/** Whether the model failed, is unreachable or is not configured; all other errors are faults of this server. */
const isOfModel = (error: unknown): boolean =>
  error instanceof ModelError || error instanceof InvalidRequestError || error instanceof UnavailableError;

import { Injectable } from '@nestjs/common';
import { type AiMessage, type Message, ownUsageOf, type TokenUsageReply, omitUndefined } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { costOfThread } from './thread-cost.js';

/** The token usage of threads, and how much of the model's context they fill. */
@Injectable()
export class TokenUsageService {
  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'models'>,
  ) {}

  /** @throws {NotFoundError} for an unknown thread */
  async of(key: ThreadKey): Promise<TokenUsageReply> {
    const [usage, head] = await Promise.all([this.store.threadUsage(key), this.store.head(key)]);
    const context = computeContextUsage(head?.state.messages ?? [], this.settings.models);
    return {
      thread_id: key.threadId,
      total_tokens: usage.inputTokens + usage.outputTokens,
      total_input_tokens: usage.inputTokens,
      total_output_tokens: usage.outputTokens,
      total_runs: usage.runs,
      ...costOfThread(usage.models, this.settings.models),
      by_caller: { ...usage.callers },
      ...omitUndefined({ context_usage: context }),
    };
  }
}

/**
 * How much of the model's context the last answer with a token count filled, including the answer itself. The model is
 * the one that gave the answer, or the default model when it is no longer configured.
 */
export function computeContextUsage(
  messages: readonly Message[],
  models: readonly Pick<GatewaySettings['models'][number], 'name' | 'model' | 'maxInputTokens'>[],
): TokenUsageReply['context_usage'] {
  const last = messages.findLast((message): message is AiMessage => message.type === 'ai' && hasUsage(message));
  const used = last === undefined ? undefined : ownUsageOf(last);
  if (last === undefined || used === undefined) return undefined;
  const name = last.response_metadata['model_name'];
  const limit = (models.find((model) => model.name === name || model.model === name) ?? models[0])?.maxInputTokens;
  if (limit === undefined) return undefined;
  const percentage = Math.round((used.total_tokens / limit) * 1000) / 10;
  return { token_count: Math.round(used.total_tokens), max_context_tokens: limit, percentage };
}

const hasUsage = (message: AiMessage): boolean => ownUsageOf(message) !== undefined;

import { ModelError, RateLimitedError } from '@caribou/contracts';
import { callUsage, type ModelCall, type ModelCatalog } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { Payer, UsageLedger } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';

/** A call of a model outside of runs. */
export interface SingleCall {
  readonly call: ModelCall;
  readonly payer: Payer;
  /** Under what usage shows the call. */
  readonly agent: string;
  readonly timeoutMs: number;
  readonly maxChars: number;
}

/** Calls of models that are no part of a run: their tokens are counted for the user, and each has a deadline. */
@Injectable()
export class SingleCalls {
  /** Number of running calls by user and agent. */
  private readonly running = new Map<string, number>();

  constructor(
    @Dependency('models') private readonly models: ModelCatalog,
    @Dependency('metrics') private readonly metrics: Pick<Metrics, 'modelTokens'>,
    @Dependency('usageLedger') private readonly ledger: Pick<UsageLedger, 'add' | 'isSpent'>,
  ) {}

  /** Whether a budget of the user or the API key is used up for today. */
  isSpent(payer: Payer): Promise<boolean> {
    return this.ledger.isSpent(payer);
  }

  /** Does the work unless `limit` calls of the user are under way at this gateway; returns undefined then. */
  async withLimit<Result>(
    limit: number,
    userId: string,
    agent: string,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const key = `${userId}/${agent}`;
    const under = this.running.get(key) ?? 0;
    if (under >= limit) return undefined;
    this.running.set(key, under + 1);
    try {
      return await work();
    } finally {
      const left = (this.running.get(key) ?? 1) - 1;
      if (left === 0) this.running.delete(key);
      else this.running.set(key, left);
    }
  }

  /**
   * The text of the model's answer.
   *
   * @param name the model; undefined: the default one
   * @throws {ModelError} when it fails, takes too long or says too much
   */
  async ask(name: string | undefined, asked: SingleCall): Promise<string> {
    const late = AbortSignal.timeout(asked.timeoutMs);
    try {
      return await this.answerOf(name, asked, late);
    } catch (error) {
      if (!late.aborted) throw error;
      const { timeoutMs: afterMs } = asked;
      throw new ModelError('the model took too long to answer', {
        details: { reason: 'timeout', afterMs },
        cause: error,
      });
    }
  }

  /** As `ask`, for calls that a user asks for. @throws {RateLimitedError} for a spent budget, and over `limit` calls at once */
  async askFor(name: string | undefined, asked: SingleCall, limit: number): Promise<string> {
    if (await this.isSpent(asked.payer)) throw new RateLimitedError('the budget of today is used up');
    const answer = await this.withLimit(limit, asked.payer.userId, asked.agent, () => this.ask(name, asked));
    if (answer === undefined) throw new RateLimitedError(`${limit} of these calls are under way, which is the limit`);
    return answer;
  }

  private async answerOf(
    name: string | undefined,
    { call, payer, agent, maxChars }: SingleCall,
    signal: AbortSignal,
  ): Promise<string> {
    let text = '';
    const model = this.models.get(name);
    for await (const delta of model.stream(call, { userId: payer.userId, signal })) {
      text += delta.content ?? '';
      if (text.length > maxChars)
        throw new ModelError('the answer of the model is too long', { details: { reason: 'too_large' } });
      if (delta.usage === undefined) continue;
      this.metrics.modelTokens('input', delta.usage.input_tokens);
      this.metrics.modelTokens('output', delta.usage.output_tokens);
      const usage = callUsage({ caller: 'middleware', model: delta.answeredBy ?? model.name }, delta.usage);
      await this.ledger.add(payer, agent, [usage]);
    }
    return text;
  }
}

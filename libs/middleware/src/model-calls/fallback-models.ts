import type { AiMessage } from '@caribou/contracts';
import type { ModelPort, RunContext } from '@caribou/core';
import type { Failure, FailureReason } from './model-failure.js';

/** A model that the layer may call, and those that may answer in its place. */
export type CallableModel = Pick<ModelPort, 'name' | 'endpoint' | 'maxInputTokens' | 'fallbacks'>;

/**
 * Failures that another model need not have, with the text for the user while it is called. A wrong key or a refused request
 * is for the operator to see.
 */
const PASSED_ON: Readonly<Partial<Record<FailureReason, string>>> = {
  quota: 'The account of this model is out of quota; another model answers.',
  busy: 'The model is busy; another model answers.',
  silent: 'The model stopped answering; another model answers.',
  transient: 'The model could not be reached; another model answers.',
  too_long: 'This conversation is longer than the model can read; another model answers.',
  circuit_open: 'The model has failed several times in a row; another model answers.',
  no_slot: 'Too many calls of this model are under way; another model answers.',
};

/**
 * The fallbacks of a model that may answer after this failure, in the order of the configuration. A conversation that is
 * too long is not passed to a model that is known to read no more.
 */
export function fallbacksAfter<Model extends CallableModel>(
  { reason }: Failure,
  failed: Pick<CallableModel, 'maxInputTokens'>,
  others: readonly Model[],
): readonly Model[] {
  if (PASSED_ON[reason] === undefined) return [];
  const { maxInputTokens: limit } = failed;
  if (reason !== 'too_long' || limit === undefined) return others;
  return others.filter(({ maxInputTokens }) => maxInputTokens === undefined || maxInputTokens > limit);
}

/** A change of the model within one call. */
export interface ModelChange {
  readonly from: string;
  readonly to: string;
  readonly reason: FailureReason;
}

/** Records that another model is called, for clients, metrics and traces. */
export async function announceChange(run: RunContext, { from, to, reason }: ModelChange): Promise<void> {
  run.logger.warn({ event: 'model_call.fallback', model: from, fallback: to, reason }, 'another model is called');
  run.recordDecision('llm-error', 'fallback_model', { model: from, fallback: to, reason });
  const message = PASSED_ON[reason] ?? '';
  await run.emit({ kind: 'custom', data: { type: 'llm_fallback', model: from, fallback: to, reason, message } });
}

/** The answer with the model that it replaces and why, so that the transcript shows it. */
export const withChange = (message: AiMessage, { from, to, reason }: ModelChange): AiMessage => ({
  ...message,
  additional_kwargs: { ...message.additional_kwargs, model_fallback: { model: from, fallback: to, reason } },
});

import { type AiMessage, type ModelError, newId } from '@caribou/contracts';
import type { AgentMiddleware, ModelCallNext, ModelGate, ModelRequest, RunContext } from '@caribou/core';
import { announceChange, type CallableModel, fallbacksAfter, type ModelChange, withChange } from './fallback-models.js';
import { type CallResult, callWithRetries, type RetryOptions } from './model-attempts.js';
import { type Failure, failureDetail, failureText } from './model-failure.js';

export interface LlmErrorOptions extends RetryOptions {
  /** Whether the provider's error text is shown to the user. */
  readonly showProviderText?: boolean;
  /** Limits and circuits of models; without it no attempt is limited. */
  readonly gate?: ModelGate;
}

/**
 * Retries failed model calls, and calls the model's fallbacks, in order, when it cannot answer. When no model has
 * answered, returns an answer that says why: a visible message marked `deerflow_error_fallback`, by which the loop ends
 * the run as an error. Only ModelError is handled; a cancel or a lost run is rethrown.
 */
export function llmError(
  model: CallableModel,
  { gate, showProviderText = false, ...options }: LlmErrorOptions = {},
): AgentMiddleware {
  return {
    name: 'llm-error',
    async wrapModelCall(request, next, run) {
      const call = { request, next, run, gate, options };
      let called = model;
      let left = model.fallbacks ?? [];
      let result = await callOne(call, called, left);
      for (;;) {
        if ('message' in result) return result.message;
        const { failure } = result;
        const [following, ...others] = fallbacksAfter(failure, called, left);
        if (following === undefined) break;
        const change = { from: called.name, to: following.name, reason: failure.reason };
        await announceChange(run, change);
        result = marked(await callOne(call, following, others), { ...change, from: model.name });
        [called, left] = [following, others];
      }
      const { error, failure } = result;
      run.recordDecision('llm-error', 'fallback', { reason: failure.reason });
      return failureMessage(error, { run, reason: failure.reason, showProviderText });
    },
  };
}

interface LayerCall {
  readonly request: ModelRequest;
  readonly next: ModelCallNext;
  readonly run: RunContext;
  readonly gate: ModelGate | undefined;
  readonly options: RetryOptions;
}

const callOne = (
  { request, gate, ...call }: LayerCall,
  { name, endpoint }: CallableModel,
  left: readonly CallableModel[],
): Promise<CallResult> =>
  callWithRetries({
    ...call,
    request: { ...request, model: name },
    gated: gate === undefined ? undefined : { gate, endpoint },
    hasFallback: left.length > 0,
  });

const marked = (result: CallResult, change: ModelChange): CallResult =>
  'message' in result ? { message: withChange(result.message, change) } : result;

interface Failed {
  readonly run: RunContext;
  readonly reason: Failure['reason'];
  readonly showProviderText: boolean;
}

function failureMessage(error: ModelError, { run, reason, showProviderText }: Failed): AiMessage {
  const { providerText } = error.details;
  const shown = showProviderText && typeof providerText === 'string' ? `\n\nThe provider wrote: ${providerText}` : '';
  return {
    type: 'ai',
    id: newId(),
    content: failureText[reason] + shown,
    additional_kwargs: {
      deerflow_error_fallback: true,
      error_type: error.name,
      error_reason: reason,
      error_detail: failureDetail(error),
      run_id: run.runId,
    },
    response_metadata: {},
    tool_calls: [],
    invalid_tool_calls: [],
  };
}

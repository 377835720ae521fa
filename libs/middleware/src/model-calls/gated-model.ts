import { ModelError, omitUndefined } from '@caribou/contracts';
import type {
  CallOutcome,
  AcquireResult,
  ModelCall,
  ModelCatalog,
  ModelDelta,
  ModelGate,
  ModelPort,
} from '@caribou/core';
import { judgeFailure } from './model-failure.js';

/**
 * A model for calls outside the loop, such as titles and summaries, which also use slots and the circuit breaker. The
 * loop's own calls are gated in `llmError`, which counts an answer with its retries once.
 *
 * The stream also throws ModelError with `details.reason` `circuit_open` or `no_slot`, not retryable.
 */
export function gateModel(model: ModelPort, gate: ModelGate): ModelPort {
  return {
    name: model.name,
    endpoint: model.endpoint,
    dialect: model.dialect,
    supportsVision: model.supportsVision,
    supportsThinking: model.supportsThinking,
    ...omitUndefined({ maxInputTokens: model.maxInputTokens }),
    stream: (call, options) => streamThrough(gate, model, { call, signal: options.signal }),
  };
}

/** The models of a catalogue, each behind the gate. */
export const gateCatalog = (models: ModelCatalog, gate: ModelGate): ModelCatalog => ({
  names: models.names,
  get: (name) => gateModel(models.get(name), gate),
});

async function* streamThrough(
  gate: ModelGate,
  model: ModelPort,
  { call, signal }: { readonly call: ModelCall; readonly signal: AbortSignal },
): AsyncGenerator<ModelDelta> {
  const entry = await gate.acquire(model.endpoint, signal);
  if (entry.kind === 'refused') throw refusalError(entry);
  let outcome: CallOutcome = 'unknown';
  try {
    yield* model.stream(call, { signal });
    outcome = 'answered';
  } catch (error) {
    if (error instanceof ModelError && judgeFailure(error).counts) outcome = 'failed';
    throw error;
  } finally {
    await entry.permit.release(outcome);
  }
}

/** Converts a refusal of the gate into a model error. */
export const refusalError = ({ reason, retryInMs }: Extract<AcquireResult, { kind: 'refused' }>): ModelError =>
  new ModelError(`the model is not called: ${reason}`, {
    details: { reason, ...omitUndefined({ retryAfterMs: retryInMs }) },
  });

import { ModelError, omitUndefined } from '@caribou/contracts';
import type {
  CallOf,
  CallOutcome,
  AcquireResult,
  ModelCall,
  ModelCatalog,
  ModelDelta,
  ModelGate,
  ModelPort,
} from '@caribou/core';
import { fallbacksAfter } from './fallback-models.js';
import { judgeFailure } from './model-failure.js';

/**
 * A model for calls outside the loop, such as titles and summaries, which also use slots and the circuit breaker, and the
 * model's fallbacks as long as nothing of an answer has arrived. The loop's own calls are gated in `llmError`, which counts an
 * answer with its retries once.
 *
 * The stream also throws ModelError with `details.reason` `circuit_open` or `no_slot`, not retryable.
 */
export function gateModel(model: ModelPort, gate: ModelGate): ModelPort {
  return { ...model, stream: (call, options) => streamFromFirst(gate, model, { call, options }) };
}

/** The models of a catalogue, each behind the gate. */
export const gateCatalog = (models: ModelCatalog, gate: ModelGate): ModelCatalog => ({
  names: models.names,
  get: (name) => gateModel(models.get(name), gate),
});

interface GatedCall {
  readonly call: ModelCall;
  readonly options: CallOf;
}

/** Streams the answer of the first model that begins one. Usage names a fallback. */
async function* streamFromFirst(gate: ModelGate, model: ModelPort, gated: GatedCall): AsyncGenerator<ModelDelta> {
  let called = model;
  let left: readonly ModelPort[] = model.fallbacks ?? [];
  for (;;) {
    let hasBegun = false;
    try {
      for await (const delta of streamThrough(gate, called, gated)) {
        hasBegun = true;
        yield called === model || delta.usage === undefined ? delta : { ...delta, answeredBy: called.name };
      }
      return;
    } catch (error) {
      if (hasBegun || !(error instanceof ModelError)) throw error;
      const [following, ...others] = fallbacksAfter(judgeFailure(error), called, left);
      if (following === undefined) throw error;
      [called, left] = [following, others];
    }
  }
}

async function* streamThrough(
  gate: ModelGate,
  model: ModelPort,
  { call, options }: GatedCall,
): AsyncGenerator<ModelDelta> {
  const entry = await gate.acquire(model.endpoint, options);
  if (entry.kind === 'refused') throw refusalError(entry);
  let outcome: CallOutcome = 'unknown';
  try {
    yield* model.stream(call, options);
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

import {
  clampRecursionLimit,
  InvalidRequestError,
  newId,
  RunContextInput,
  type RunContextValues,
  type RunCreate,
  type RunKwargs,
} from '@caribou/contracts';
import type { AdmitRequest } from '@caribou/core';
import { assistantOf } from '../assistants/assistant-catalog.js';
import { parse } from '../http/parse-input.js';
import type { GatewaySettings } from '../ports.js';

export interface RunPlace {
  readonly userId: string;
  readonly threadId: string;
  /** The thread is made for this run and goes away with it. */
  readonly temporary: boolean;
  /** What to do with an unknown thread when the body does not say. */
  readonly ifNotExists: 'create' | 'reject';
}

type Limits = Pick<GatewaySettings, 'models' | 'maxTurns' | 'maxTurnsCap'>;

/**
 * The admission a request asks for: contexts merged, limits clamped, names checked against what there is.
 *
 * @throws {NotFoundError} for an unknown assistant
 * @throws {InvalidRequestError} for an unknown model, or settings of the wrong type
 */
export function admitRequest(body: RunCreate, place: RunPlace, limits: Limits): AdmitRequest {
  const assistant = assistantOf(body.assistant_id);
  const checkpointId = body.checkpoint_id ?? body.checkpoint?.checkpoint_id ?? undefined;
  return {
    userId: place.userId,
    threadId: place.threadId,
    runId: newId(),
    assistantId: assistant.graph_id,
    metadata: { ...body.config?.metadata, ...body.metadata },
    kwargs: kwargsOf(body, place, limits),
    multitaskStrategy: body.multitask_strategy ?? 'reject',
    ifNotExists: body.if_not_exists ?? place.ifNotExists,
    threadMetadata: { graph_id: assistant.graph_id, assistant_id: assistant.assistant_id },
    ...(checkpointId === undefined ? {} : { checkpointId }),
  };
}

function kwargsOf(body: RunCreate, { temporary }: RunPlace, limits: Limits): RunKwargs {
  const modes = body.stream_mode ?? [];
  return {
    input: body.input ?? null,
    context: contextOf(body, limits.models),
    recursion_limit: clampRecursionLimit(body.config?.recursion_limit, {
      fallback: limits.maxTurns,
      max: limits.maxTurnsCap,
    }),
    stream_mode: modes.length === 0 ? ['values'] : [...new Set(modes)],
    stream_subgraphs: body.stream_subgraphs ?? false,
    on_disconnect: body.on_disconnect ?? 'continue',
    ...(body.interrupt_before ? { interrupt_before: body.interrupt_before } : {}),
    ...(body.interrupt_after ? { interrupt_after: body.interrupt_after } : {}),
    temporary,
  };
}

function contextOf(body: RunCreate, models: Limits['models']): RunContextValues {
  const context = parse(RunContextInput, { ...body.config?.configurable, ...body.context }, 'context');
  const { model_name: name } = context;
  if (name !== undefined && !models.some((model) => model.name === name)) {
    throw new InvalidRequestError(`context.model_name: there is no model "${name.slice(0, 100)}"`);
  }
  return context;
}

import {
  clampRecursionLimit,
  InvalidRequestError,
  LEAD_AGENT,
  newId,
  RunContextInput,
  type RunContextValues,
  type RunKwargs,
  type RunTerms,
  startCheckpointOf,
  omitUndefined,
} from '@caribou/contracts';
import type { AdmitRequest } from '@caribou/state';
import type { NamedAssistant } from '../../assistants/assistant-catalog.js';
import { parse } from '../../http/parse-input.js';
import type { GatewaySettings } from '../../settings.js';
import type { ResolvedRun } from '../run-inputs.js';

/** The thread that a run is started on. */
export interface RunTarget {
  readonly userId: string;
  readonly threadId: string;
  /** Whether the thread is created for this run and deleted with it. */
  readonly temporary: boolean;
  /** What to do when the thread does not exist, unless the body says otherwise. */
  readonly ifNotExists: 'create' | 'reject';
}

type Limits = Pick<GatewaySettings, 'models' | 'maxTurns' | 'maxTurnsCap'>;

/**
 * The admission for a request: contexts are merged, limits are clamped, and the model's name is checked. Whether the
 * agent exists is not checked here.
 *
 * @throws {InvalidRequestError} for an unknown model, or settings of the wrong type
 */
export function admitRequest(
  body: ResolvedRun,
  target: RunTarget,
  { limits, assistant }: { readonly limits: Limits; readonly assistant: NamedAssistant },
): AdmitRequest {
  const checkpointId = startCheckpointOf(body);
  return {
    userId: target.userId,
    threadId: target.threadId,
    runId: newId(),
    assistantId: LEAD_AGENT,
    metadata: { ...body.config?.metadata, ...body.metadata },
    kwargs: { ...kwargsOf(body, limits, assistant), temporary: target.temporary },
    multitaskStrategy: body.multitask_strategy ?? 'reject',
    ifNotExists: body.if_not_exists ?? target.ifNotExists,
    threadMetadata: { graph_id: LEAD_AGENT, assistant_id: assistant.assistantId },
    ...omitUndefined({ checkpointId }),
  };
}

/**
 * The request of a run that continues another one: what the request leaves out is taken from that run. The agent stays the same, so
 * that its rules do.
 */
export function continueWith(
  body: ResolvedRun,
  { context, recursion_limit }: RunTerms,
  { models }: Pick<GatewaySettings, 'models'>,
): ResolvedRun {
  const { model_name: name, agent_name: agent, ...rest } = context;
  const isKnown = models.some((model) => model.name === name);
  return {
    ...body,
    config: {
      ...body.config,
      recursion_limit: body.config?.recursion_limit ?? recursion_limit,
      configurable: { ...rest, ...(isKnown ? { model_name: name } : {}), ...body.config?.configurable },
    },
    context: { ...body.context, ...(agent === undefined ? {} : { agent_name: agent }) },
  };
}

function kwargsOf(body: ResolvedRun, limits: Limits, assistant: NamedAssistant): Omit<RunKwargs, 'temporary'> {
  const modes = body.stream_mode ?? [];
  return {
    input: body.input,
    ...omitUndefined({ command: body.command }),
    context: contextOf(body, limits, assistant),
    recursion_limit: clampRecursionLimit(body.config?.recursion_limit, {
      fallback: limits.maxTurns,
      max: limits.maxTurnsCap,
    }),
    stream_mode: modes.length === 0 ? ['values'] : [...new Set(modes)],
    stream_subgraphs: body.stream_subgraphs ?? false,
    on_disconnect: body.on_disconnect ?? 'continue',
    ...(body.interrupt_before ? { interrupt_before: body.interrupt_before } : {}),
    ...(body.interrupt_after ? { interrupt_after: body.interrupt_after } : {}),
    ...omitUndefined({ webhook: body.webhook || undefined, after_seconds: body.after_seconds || undefined }),
  };
}

/** An agent named in the context takes precedence over the custom agent that the assistant's id names. */
function contextOf(body: ResolvedRun, { models }: Limits, { agentName }: NamedAssistant): RunContextValues {
  const named = omitUndefined({ agent_name: agentName });
  const given = { ...body.config?.configurable, ...body.context };
  const context = { ...named, ...(Object.keys(given).length === 0 ? {} : parse(RunContextInput, given, 'context')) };
  const { model_name: name } = context;
  if (name !== undefined && !models.some((model) => model.name === name)) {
    throw new InvalidRequestError(`context.model_name: there is no model "${name.slice(0, 100)}"`);
  }
  return context;
}

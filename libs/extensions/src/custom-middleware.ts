import { type AiMessage, ExtensionError, omitUndefined } from '@caribou/contracts';
import {
  type AgentMiddleware,
  joinUpdates,
  type ModelCallNext,
  type ModelRequest,
  type RunContext,
  type ToolCallNext,
  type ToolCallRequest,
  type ToolOutcome,
} from '@caribou/core';
import { z } from 'zod';
import { customContext, toShownState } from './custom-context.js';
import { outcomeOf, toAnswer } from './custom-tool.js';
import { DEFAULT_TIMEOUT_MS, isFunction, isSchema, Name, TimeoutMs } from './definition-parts.js';
import { describeSource, type Speaker, toStep } from './given-step.js';
import { type Guard, runGuarded } from './hook-guard.js';
import { faultsOf, type OwnState, ownState } from './own-state.js';
import type { MiddlewareDefinition, ToolAnswer } from './public-types.js';
import { CustomMiddleware, CustomTool } from './custom-types.js';
import { customNext, modelNext, toShownRequest, toAiMessage } from './wrap-model-call.js';

const MAX_TOOLS = 50;

const Definition = z.strictObject({
  name: Name(/^[a-z][a-z0-9-]{0,40}$/),
  state: isSchema.optional(),
  tools: z
    .array(z.instanceof(CustomTool, { error: 'must be made with defineTool' }))
    .max(MAX_TOOLS)
    .optional(),
  timeoutMs: TimeoutMs.optional(),
  slowAfterModel: z.boolean().optional(),
  beforeAgent: isFunction.optional(),
  beforeModel: isFunction.optional(),
  wrapModelCall: isFunction.optional(),
  afterModel: isFunction.optional(),
  wrapToolCall: isFunction.optional(),
  afterAgent: isFunction.optional(),
});

/**
 * Creates a middleware of the chain from a definition of custom code: its hooks run guarded, receive the documented
 * part of the run, and their results are checked.
 *
 * @throws {ExtensionError} naming what is wrong with the definition
 */
export function defineMiddleware<Own>(definition: MiddlewareDefinition<Own>): CustomMiddleware {
  const checked = Definition.safeParse(definition);
  if (!checked.success) throw new ExtensionError(`its definition is wrong: ${faultsOf(checked.error)}`);
  const { name, state, tools = [], slowAfterModel } = definition;
  const parts: Parts<Own> = { definition, own: ownState(name, state) };
  return new CustomMiddleware({
    name,
    tools: tools.map((tool) => tool.bind({ kind: 'middleware', name }, parts.own)),
    ...(slowAfterModel === true ? { isSlowAfterModel: () => true } : {}),
    ...(definition.beforeAgent === undefined ? {} : { beforeAgent: stepHook('beforeAgent', parts) }),
    ...(definition.beforeModel === undefined ? {} : { beforeModel: stepHook('beforeModel', parts) }),
    ...(definition.wrapModelCall === undefined ? {} : { wrapModelCall: modelLayer(parts) }),
    ...(definition.afterModel === undefined ? {} : { afterModel: stepHook('afterModel', parts) }),
    ...(definition.wrapToolCall === undefined ? {} : { wrapToolCall: toolLayer(parts) }),
    ...(definition.afterAgent === undefined ? {} : { afterAgent: stepHook('afterAgent', parts) }),
  });
}

interface Parts<Own> {
  readonly definition: MiddlewareDefinition<Own>;
  readonly own: OwnState<Own>;
}

const speakerOf = ({ name }: { readonly name: string }, place: string): Speaker => ({
  kind: 'middleware',
  name,
  place,
});

type StepHookName = 'beforeAgent' | 'beforeModel' | 'afterModel' | 'afterAgent';
type AnyStepHook = NonNullable<AgentMiddleware['beforeAgent']>;

function stepHook<Own>(hook: StepHookName, { definition, own }: Parts<Own>): AnyStepHook {
  const speaker = speakerOf(definition, hook);
  return (state, run) =>
    inHook({ speaker, run, timeoutMs: definition.timeoutMs }, async (guard) => {
      const context = customContext({ speaker, run, guard, own: own.read(state) });
      return toStep((await definition[hook]?.(toShownState(state), context)) ?? undefined, own, speaker);
    });
}

function modelLayer<Own>({ definition, own }: Parts<Own>): NonNullable<AgentMiddleware['wrapModelCall']> {
  const speaker = speakerOf(definition, 'wrapModelCall');
  return (request: ModelRequest, next: ModelCallNext, run) =>
    inHook({ speaker, run, timeoutMs: definition.timeoutMs }, async (guard) => {
      const context = customContext({ speaker, run, guard, own: own.read(request.state) });
      const inner: AiMessage[] = [];
      const recordCall: ModelCallNext = async (changed) => {
        const message = await next(changed);
        inner.push(message);
        return message;
      };
      const rest = modelNext(request, recordCall, { guard, speaker });
      const given: unknown = await definition.wrapModelCall?.(toShownRequest(request), rest.next, context);
      rest.assertSettled();
      return toAiMessage(given, inner, speaker);
    });
}

function toolLayer<Own>({ definition, own }: Parts<Own>): NonNullable<AgentMiddleware['wrapToolCall']> {
  const speaker = speakerOf(definition, 'wrapToolCall');
  return (request: ToolCallRequest, next: ToolCallNext, run) =>
    inHook({ speaker, run, timeoutMs: definition.timeoutMs }, async (guard) => {
      const context = customContext({ speaker, run, guard, own: own.read(request.state) });
      let inner: ToolOutcome | undefined;
      const once = async (): Promise<ToolAnswer> => {
        if (inner !== undefined) throw new ExtensionError(`${describeSource(speaker)} called a tool twice`);
        inner = await next(request);
        return toToolAnswer(inner);
      };
      const rest = customNext<never, ToolAnswer>(once, { guard, speaker });
      const given: unknown = await definition.wrapToolCall?.(toShownCall(request), () => rest.next(), context);
      rest.assertSettled();
      const answer = toAnswer(given, speaker);
      const outcome = outcomeOf(answer, joinUpdates(inner?.update ?? {}, own.write(answer.own)));
      return { ...innerParts(inner), ...outcome };
    });
}

/** The parts of an outcome that custom code does not see and cannot change. */
const innerParts = (inner: ToolOutcome | undefined): Partial<ToolOutcome> => {
  if (inner === undefined) return {};
  const { content: _content, isError: _isError, artifact: _artifact, update: _update, ...rest } = inner;
  return rest;
};

const toToolAnswer = ({ content, isError, artifact, end }: ToolOutcome): ToolAnswer => ({
  content,
  ...omitUndefined({ isError, artifact, end }),
});

const toShownCall = ({ call: { id, name, args }, tool, state }: ToolCallRequest) => ({
  call: { id, name, args },
  tool:
    tool === undefined ? undefined : { name: tool.name, description: tool.description, parameters: tool.parameters },
  state: toShownState(state),
});

interface Hooked {
  readonly speaker: Speaker;
  readonly run: RunContext;
  readonly timeoutMs: number | undefined;
}

/** Runs a hook; an error of the hook fails the run with the middleware's name, and its details are only logged. */
function inHook<T>({ speaker, run, timeoutMs = DEFAULT_TIMEOUT_MS }: Hooked, work: (guard: Guard) => Promise<T>) {
  const { place } = speaker;
  const toFailure = (error: unknown) => {
    const kind = error instanceof Error ? error.name : 'no Error';
    return new ExtensionError(`${describeSource(speaker)} failed in ${place}: ${kind}`, { cause: error });
  };
  const createTimeoutError = () =>
    new ExtensionError(`${describeSource(speaker)} did not return from ${place} within ${timeoutMs} ms`);
  return runGuarded({ speaker, run, timeoutMs, toFailure, createTimeoutError }, work);
}

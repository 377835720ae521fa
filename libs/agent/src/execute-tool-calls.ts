import {
  type InterruptRecord,
  type InvalidToolCall,
  type StateUpdate,
  textOf,
  type ThreadState,
  type ToolCall,
  type ToolMessage,
  omitUndefined,
} from '@caribou/contracts';
import {
  type AgentMiddleware,
  type AnyTool,
  askingRunOf,
  Interrupted,
  joinUpdates,
  type OpenToolCall,
  type PendingCalls,
  type RunContext,
  type ToolCallNext,
  type ToolCallRequest,
  type ToolOutcome,
  toolScope,
  traceCall,
  traceHook,
  withInterrupts,
} from '@caribou/core';
import { onion } from '@caribou/middleware';
import { asTaskFailure } from './task-failure.js';
import { mapBounded, untilAborted } from './waiting.js';

type AnyCall = ToolCall | InvalidToolCall;

/** Maximum number of concurrent calls of one message. */
const MAX_CONCURRENT_CALLS = 8;
/** Maximum characters of a tool name in a span, as models invent names. */
const MAX_SPAN_NAME = 64;

export interface ToolRound {
  readonly chain: readonly AgentMiddleware[];
  readonly tools: readonly AnyTool[];
  readonly run: RunContext;
  readonly state: ThreadState;
  /** Number of the super-step. */
  readonly step: number;
  readonly calls: PendingCalls;
}

/** The result of one call. */
export interface ToolResult {
  /** The tool message, with the other changes of the outcome; empty for a call that waits. */
  readonly update: StateUpdate;
  /** Whether the run ends successfully after this round. */
  readonly end: boolean;
  /** What the call waits for; empty for a call that has ended. */
  readonly asked: readonly InterruptRecord[];
}

/**
 * Executes the calls in parallel, each through all `wrapToolCall` layers, and returns their results: valid calls first,
 * each kind in call order. A call with invalid arguments gets its error as result and passes no layer. Tool messages
 * are published with the commit; `tool.*` events immediately, and again after a takeover. A call that asks a person has no
 * result; the others of the round have theirs.
 *
 * @throws the first exception that a layer let through, once all running calls have settled; the signal's reason at
 *   once when the run was aborted
 */
export async function executeToolCalls(round: ToolRound): Promise<readonly ToolResult[]> {
  const { run, state, calls } = round;
  const results = await mapBounded(calls.valid, MAX_CONCURRENT_CALLS, async (call) => {
    run.signal.throwIfAborted();
    await run.emit({ kind: 'tool.start', tool_call_id: call.id, name: call.name, args: call.args });
    const tool = round.tools.find((candidate) => candidate.name === call.name);
    const traced = run.tracer?.toolCall(call);
    try {
      const outcome = await untilAborted(execute(round, { call, tool, state }), run.signal);
      traced?.end(...tracedOutcome(outcome));
      return await finalize(run, call, outcome);
    } catch (error) {
      if (!(error instanceof Interrupted)) {
        traced?.fail();
        throw error;
      }
      traced?.end('interrupted');
      return { update: {}, end: false, asked: error.asked };
    }
  });
  const refused = await mapBounded(calls.invalid, 1, (call) => finalize(run, call, invalidOutcome(call)));
  return [...results, ...refused];
}

/** The outcome of a call for the trace, with the error that the model is given. */
function tracedOutcome({ isError, isUnknown, content }: ToolOutcome): Parameters<OpenToolCall['end']> {
  if (isUnknown === true) return ['unknown', textOf(content)];
  return isError === true ? ['error', textOf(content)] : ['ok'];
}

/** Describes one call by OpenTelemetry's conventions for generative AI. */
function execute(round: ToolRound, request: ToolCallRequest): Promise<ToolOutcome> {
  const { name, id } = request.call;
  const call = {
    name: `execute_tool ${name.slice(0, MAX_SPAN_NAME)}`,
    fields: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, 'gen_ai.tool.call.id': id },
    resultFields: ({ isError }: ToolOutcome) => ({ 'caribou.outcome': isError === true ? 'error' : 'ok' }),
  };
  return traceCall(round.run, call, (run) => callThroughLayers({ ...round, run })(request));
}

function callThroughLayers({ chain, tools, run, step }: ToolRound): ToolCallNext {
  const layers = chain.flatMap((middleware) => {
    const call = (request: ToolCallRequest, next: ToolCallNext): Promise<ToolOutcome> =>
      traceHook(run, { middleware: middleware.name, hook: 'wrapToolCall' }, (context, runUntimed) => {
        const within: ToolCallNext = (changed) => runUntimed(() => next(changed));
        const asking = withInterrupts(context, scopeOf(request, middleware.name, step));
        return middleware.wrapToolCall?.(request, within, asking) ?? next(request);
      });
    return middleware.wrapToolCall === undefined ? [] : [{ name: middleware.name, call }];
  });
  return onion<ToolCallRequest, ToolOutcome>(layers, (request) => {
    const { call, tool, state, audit, expectedFile } = request;
    if (tool === undefined) return Promise.resolve(unknownTool(call.name, tools));
    return tool.invoke(call.args, {
      run: withInterrupts(run, scopeOf(request, TOOL_LAYER, step)),
      toolCallId: call.id,
      key: `${askingRunOf(state, toolScope(call.id)) ?? run.runId}:${call.id}`,
      state,
      ...omitUndefined({ audit, expectedFile }),
    });
  });
}

/** The layer of a tool's own interrupts; no middleware has this name. */
const TOOL_LAYER = '';

const scopeOf = ({ call, state }: ToolCallRequest, layer: string, step: number) => ({
  scope: toolScope(call.id),
  layer,
  state,
  step,
});

const unknownTool = (name: string, tools: readonly AnyTool[]): ToolOutcome => ({
  content: `Error: Tool '${name}' does not exist. Available tools: ${tools.map((tool) => tool.name).join(', ')}.`,
  isError: true,
});

const invalidOutcome = (call: InvalidToolCall): ToolOutcome => ({
  content: `Error: Tool '${call.name}' was not called. ${call.error.slice(0, 500)} Call it again with valid arguments.`,
  isError: true,
});

async function finalize(run: RunContext, call: AnyCall, reached: ToolOutcome): Promise<ToolResult> {
  run.signal.throwIfAborted();
  const { id: tool_call_id, name } = call;
  const outcome = asTaskFailure(name, reached);
  const message = toolMessage(call, outcome);
  if (outcome.isError !== true) await run.emit({ kind: 'tool.end', tool_call_id, name, message });
  else await run.emit({ kind: 'tool.error', tool_call_id, name, error: textOf(message.content) });
  const update = joinUpdates({ messages: [message] }, outcome.update ?? {});
  return { update, end: outcome.end === true, asked: [] };
}

/** The id is derived from the call's, so that a takeover answers under the same id. */
function toolMessage(call: AnyCall, outcome: ToolOutcome): ToolMessage {
  return {
    type: 'tool',
    id: outcome.messageId ?? `tool:${call.id}`,
    content: outcome.content,
    name: call.name,
    tool_call_id: call.id,
    status: outcome.isError === true ? 'error' : 'success',
    additional_kwargs: { ...outcome.additionalKwargs },
    response_metadata: {},
    ...omitUndefined({ artifact: outcome.artifact }),
  };
}

import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import {
  type AiMessage,
  ModelError,
  type RunEventOf,
  textOf,
  type ThreadState,
  omitUndefined,
} from '@caribou/contracts';
import {
  type AgentMiddleware,
  type AnyTool,
  type CallUsage,
  callUsage,
  type ModelCall,
  type ModelPort,
  type ModelRequest,
  type RunContext,
  traceCall,
  traceHook,
  withFittingExtras,
} from '@caribou/core';
import { onion } from '@caribou/middleware';
import { AnswerAssembly } from './answer-assembly.js';
import { modelSpan } from './model-span.js';
import { withoutImages } from './text-only.js';

const MODEL_NODE = 'model_request';

export interface ModelTurn {
  readonly chain: readonly AgentMiddleware[];
  readonly model: ModelPort;
  readonly tools: readonly AnyTool[];
  readonly systemPrompt: string;
  readonly run: RunContext;
  readonly state: ThreadState;
  readonly step: number;
  /** Receives the tokens of each complete answer, also of one that a layer replaces or requests again. */
  readonly onUsage: (call: CallUsage) => void;
}

/**
 * Requests one answer of the model, through all `wrapModelCall` layers, and publishes it while it is streamed. Each
 * attempt has its own message id, and a message that was cut is published as dropped before the next attempt, because
 * clients join deltas by id. A message that a layer created is published as one delta.
 *
 * @throws what the layers let through: a ModelError, or the signal's reason when the run was aborted; nothing is
 *   published afterwards
 */
export function takeModelTurn(turn: ModelTurn): Promise<AiMessage> {
  const span = { name: MODEL_NODE, fields: { 'caribou.step': turn.step } };
  return traceCall(turn.run, span, (run) => answerThroughLayers({ ...turn, run }));
}

async function answerThroughLayers(turn: ModelTurn): Promise<AiMessage> {
  const { chain, run } = turn;
  let streamed: AiMessage | undefined;
  const layers = chain.flatMap((middleware) =>
    middleware.wrapModelCall === undefined ? [] : [{ name: middleware.name, call: wrapOf(middleware, run) }],
  );
  const call = onion<ModelRequest, AiMessage>(layers, async (request) => {
    const called = modelNamed(request.model, turn.model);
    const readable = called === turn.model || called.supportsVision ? request : withoutImagesIn(request);
    streamed = await streamAnswer({ ...turn, model: called }, readable);
    return streamed;
  });
  const answer = await call({
    model: turn.model.name,
    system: turn.systemPrompt,
    messages: turn.state.messages,
    tools: turn.tools,
    state: turn.state,
  });
  run.signal.throwIfAborted();
  const message = withFittingExtras(answer.id === streamed?.id ? streamed : undefined, answer);
  if (message.id !== streamed?.id) await run.emit(wholeDelta(message, turn.step));
  return message;
}

const withoutImagesIn = (request: ModelRequest): ModelRequest => ({
  ...request,
  messages: withoutImages(request.messages),
});

/** The model or one of its fallbacks; the model itself for any other name. */
const modelNamed = (name: string, model: ModelPort): ModelPort =>
  model.fallbacks?.find((fallback) => fallback.name === name) ?? model;

type Wrap = NonNullable<AgentMiddleware['wrapModelCall']>;

const wrapOf =
  (middleware: AgentMiddleware, run: RunContext) =>
  (request: Parameters<Wrap>[0], next: Parameters<Wrap>[1]): Promise<AiMessage> =>
    traceHook(run, { middleware: middleware.name, hook: 'wrapModelCall' }, (context, runUntimed) => {
      const within: typeof next = (changed) => runUntimed(() => next(changed));
      return middleware.wrapModelCall?.(request, within, context) ?? next(request);
    });

function streamAnswer(turn: ModelTurn, request: ModelRequest): Promise<AiMessage> {
  const call = callOf(request, turn.model, turn.run);
  return traceCall(turn.run, modelSpan(turn.model, call), () => assembleAnswer(turn, call));
}

async function assembleAnswer({ model, run, step, onUsage }: ModelTurn, call: ModelCall): Promise<AiMessage> {
  run.signal.throwIfAborted();
  const messageId = run.takeMessageId();
  const answer = new AnswerAssembly({ messageId, node: MODEL_NODE, step, model });
  await run.emit({ kind: 'model.start', node: MODEL_NODE, step, message_id: messageId, model: model.name });
  const traced = run.tracer?.modelCall(model, call);
  let published = false;
  try {
    for await (const piece of model.stream(call, run)) {
      run.signal.throwIfAborted();
      traced?.firstPiece();
      const delta = answer.add(piece);
      if (delta === undefined) continue;
      published = true;
      await run.emit(delta);
    }
    run.signal.throwIfAborted();
    const message = answer.message();
    const { usage_metadata: usage } = message;
    if (usage !== undefined) onUsage(callUsage({ caller: 'lead_agent', model: model.name }, usage));
    await run.emit(answer.lastDelta());
    await giveWay();
    traced?.end(message);
    return message;
  } catch (error) {
    traced?.fail(run.signal.aborted ? undefined : error);
    run.signal.throwIfAborted();
    if (published && error instanceof ModelError) await run.emit(toDropEvent(messageId, run));
    throw error;
  }
}

/**
 * Waits for two turns of the event loop, in which the pieces of a message are published and sent: readers need not wait for the work
 * that ends the step.
 */
async function giveWay(): Promise<void> {
  await nextTurnOfLoop();
  await nextTurnOfLoop();
}

function callOf(request: ModelRequest, model: ModelPort, run: RunContext): ModelCall {
  const {
    thinking_enabled: thinking = true,
    reasoning_effort: effort,
    temperature,
    max_tokens: maxTokens,
  } = run.context;
  return {
    system: request.system,
    messages: request.messages,
    tools: request.tools,
    thinkingEnabled: thinking && model.supportsThinking,
    ...omitUndefined({ toolChoice: request.toolChoice, reasoningEffort: effort, temperature, maxTokens }),
  };
}

const toDropEvent = (messageId: string, run: RunContext): RunEventOf<'run.start'> => ({
  kind: 'run.start',
  run_id: run.runId,
  thread_id: run.threadId,
  attempt: run.attempt,
  dropped_message_ids: [messageId],
  checkpoint_id: null,
});

function wholeDelta(message: AiMessage, step: number): RunEventOf<'message.delta'> {
  const chunks = message.tool_calls.map(({ name, args, id }, index) => ({
    name,
    args: JSON.stringify(args),
    id,
    index,
    type: 'tool_call_chunk' as const,
  }));
  return {
    kind: 'message.delta',
    node: MODEL_NODE,
    step,
    message_id: message.id,
    content: textOf(message.content),
    response_metadata: message.response_metadata,
    ...(chunks.length === 0 ? {} : { tool_call_chunks: chunks }),
    ...omitUndefined({ usage: message.usage_metadata }),
  };
}

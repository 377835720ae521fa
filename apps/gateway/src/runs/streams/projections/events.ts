import type { RunEvent } from '@caribou/contracts';
import { type Frame, jsonFrame, NO_FRAMES, type Projection, type ProjectionContext } from './frame.js';
import { messageChunk } from './message-chunk.js';
import { modelMetadata, nodeMetadata } from './message-metadata.js';
import { stableId } from './stable-id.js';

interface Part {
  readonly event: string;
  readonly name: string;
  readonly data: unknown;
  /** Id of the model call, tool call or node inside the run. */
  readonly runId: string;
}

/** The class of the model client, which tools for LangChain's events know. */
const MODEL_CLASS = 'ChatOpenAI';

/** Mode `events`: LangChain's v2 events of the run, its nodes, model calls and tools. */
export const events: Projection = (event, context) => {
  if (event.kind === 'end') return event.status === 'success' ? endFrames(context) : NO_FRAMES;
  const part = toPart(event, context);
  return part === undefined ? NO_FRAMES : [eventFrame(part, event, context)];
};

function toPart(event: RunEvent, { run }: ProjectionContext): Part | undefined {
  const idOf = (name: string): string => stableId(`${run.runId}:${name}`);
  switch (event.kind) {
    case 'run.start':
      if (event.attempt > 1 || event.dropped_message_ids.length > 0) return undefined;
      return { event: 'on_chain_start', name: 'LangGraph', data: { input: run.input }, runId: run.runId };
    case 'task.start':
      return { event: 'on_chain_start', name: event.node, data: {}, runId: idOf(event.task_id) };
    case 'task.end':
      return { event: 'on_chain_end', name: event.node, data: { output: event.update }, runId: idOf(event.task_id) };
    case 'model.start':
      return { event: 'on_chat_model_start', name: MODEL_CLASS, data: {}, runId: idOf(event.message_id) };
    default:
      return contentPart(event, idOf);
  }
}

function contentPart(event: RunEvent, idOf: (name: string) => string): Part | undefined {
  switch (event.kind) {
    case 'message.delta':
      return {
        event: 'on_chat_model_stream',
        name: MODEL_CLASS,
        data: { chunk: messageChunk(event) },
        runId: idOf(event.message_id),
      };
    case 'message':
      if (event.message.type !== 'ai') return undefined;
      return {
        event: 'on_chat_model_end',
        name: MODEL_CLASS,
        data: { output: event.message },
        runId: idOf(event.message.id),
      };
    case 'tool.start':
      return { event: 'on_tool_start', name: event.name, data: { input: event.args }, runId: idOf(event.tool_call_id) };
    case 'tool.end':
      return {
        event: 'on_tool_end',
        name: event.name,
        data: { output: event.message },
        runId: idOf(event.tool_call_id),
      };
    case 'tool.error':
      return {
        event: 'on_tool_error',
        name: event.name,
        data: { error: event.error },
        runId: idOf(event.tool_call_id),
      };
    case 'custom':
      return { event: 'on_custom_event', name: 'custom', data: event.data, runId: idOf('custom') };
    default:
      return undefined;
  }
}

/** The frame at the end of a successful run, with its final values if it has a checkpoint. */
function endFrames(context: ProjectionContext): readonly Frame[] {
  const { runId: run_id } = context.run;
  const { checkpointId } = context.state;
  const rest = { name: 'LangGraph', run_id, tags: [], metadata: runMetadata(context) };
  if (checkpointId === null) return [jsonFrame('events', { event: 'on_chain_end', data: {}, ...rest })];
  const after = `},${JSON.stringify(rest).slice(1)}`;
  return [{ event: 'events', checkpointId, before: '{"event":"on_chain_end","data":{"output":', after }];
}

const runMetadata = ({ run, state }: ProjectionContext): Readonly<Record<string, unknown>> => ({
  graph_id: run.graphId,
  assistant_id: run.assistantId,
  run_attempt: state.attempt,
  thread_id: run.threadId,
  run_id: run.runId,
});

function eventFrame(part: Part, event: RunEvent, context: ProjectionContext): Frame {
  return jsonFrame('events', {
    event: part.event,
    name: part.name,
    run_id: part.runId,
    tags: [],
    metadata: partMetadata(event, context),
    data: part.data,
  });
}

function partMetadata(event: RunEvent, context: ProjectionContext): Readonly<Record<string, unknown>> {
  if (!('node' in event)) return runMetadata(context);
  const isNode = event.kind === 'task.start' || event.kind === 'task.end';
  return isNode ? nodeMetadata(event, context) : modelMetadata(event, context);
}

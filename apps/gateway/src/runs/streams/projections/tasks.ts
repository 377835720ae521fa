import type { RunEventOf } from '@caribou/contracts';
import { type Frame, jsonFrame, NO_FRAMES, type Projection, type ProjectionContext } from './frame.js';
import { deriveTaskId, findTaskId, deriveStartedTaskId } from './task-id.js';

/** JSON in two parts, with the thread's values to be inserted between them. */
interface Parts {
  readonly before: string;
  readonly after: string;
}

/** The start of a node; its input is inserted between the parts. */
function taskStart(event: RunEventOf<'task.start'>, { run, state }: ProjectionContext): Parts {
  const head = JSON.stringify({ id: deriveStartedTaskId(event, state), name: event.node });
  const { runId: run_id, graphId: graph_id, assistantId: assistant_id } = run;
  const metadata = { graph_id, assistant_id, run_id, run_attempt: state.attempt };
  const tail = JSON.stringify({ triggers: event.triggers, interrupts: [], metadata });
  return { before: `${head.slice(0, -1)},"input":`, after: `,${tail.slice(1)}` };
}

/** The end of a node. */
const taskEnd = (event: RunEventOf<'task.end'>, { state }: ProjectionContext): Readonly<Record<string, unknown>> => ({
  id: findTaskId(event, state),
  name: event.node,
  result: event.update,
  error: event.error,
  interrupts: event.interrupts ?? [],
});

/** A frame with the input of a node, which is the values of the newest checkpoint. */
function aroundValues(event: string, { before, after }: Parts, { state }: ProjectionContext): Frame {
  if (state.checkpointId === null) return { event, data: `${before}{}${after}` };
  return { event, checkpointId: state.checkpointId, before, after };
}

/** Wraps a payload in `{step, type, timestamp, payload}`. */
function inDebug(head: Readonly<Record<string, unknown>>, payload: Parts): Parts {
  return { before: `${JSON.stringify(head).slice(0, -1)},"payload":${payload.before}`, after: `${payload.after}}` };
}

/** Mode `tasks`: the start and end of each node. */
export const tasks: Projection = (event, context) => {
  switch (event.kind) {
    case 'task.start':
      return [aroundValues('tasks', taskStart(event, context), context)];
    case 'task.end':
      return [jsonFrame('tasks', taskEnd(event, context))];
    default:
      return NO_FRAMES;
  }
};

/** Mode `debug`: checkpoints and nodes, each with its step. */
export const debug: Projection = (event, context) => {
  const { timestamp } = context.state;
  switch (event.kind) {
    case 'checkpoint': {
      const head = { step: event.metadata.step, type: 'checkpoint', timestamp: event.created_at };
      const payload = debugCheckpoint(event, context.run.threadId);
      return [{ event: 'debug', checkpointId: event.checkpoint_id, ...inDebug(head, payload) }];
    }
    case 'task.start': {
      const payload = taskStart(event, context);
      return [aroundValues('debug', inDebug({ step: event.step, type: 'task', timestamp }, payload), context)];
    }
    case 'task.end':
      return [
        jsonFrame('debug', { step: event.step, type: 'task_result', timestamp, payload: taskEnd(event, context) }),
      ];
    default:
      return NO_FRAMES;
  }
};

/** Mode `checkpoints`: each committed state with its metadata and the nodes that follow. */
export const checkpoints: Projection = (event) => {
  if (event.kind !== 'checkpoint') return NO_FRAMES;
  const after = `,${JSON.stringify(toCheckpointFields(event)).slice(1)}`;
  return [{ event: 'checkpoints', checkpointId: event.checkpoint_id, before: '{"values":', after }];
};

const toCheckpointFields = ({ metadata, next }: RunEventOf<'checkpoint'>) => ({
  metadata: { parents: {}, ...metadata },
  next,
});

function debugCheckpoint(event: RunEventOf<'checkpoint'>, threadId: string): Parts {
  const checkpoint = (id: string) => ({
    thread_id: threadId,
    checkpoint_ns: '',
    checkpoint_id: id,
    checkpoint_map: null,
  });
  const own = checkpoint(event.checkpoint_id);
  const parent = event.parent_id === null ? null : checkpoint(event.parent_id);
  const rest = {
    ...toCheckpointFields(event),
    tasks: event.next.map((name) => toTask(event, name)),
    config: { configurable: own },
    ...(parent === null ? {} : { parent_config: { configurable: parent } }),
    checkpoint: own,
    parent_checkpoint: parent,
  };
  return { before: '{"values":', after: `,${JSON.stringify(rest).slice(1)}` };
}

/** A task that follows; what is asked at a checkpoint is asked by its one node. */
const toTask = ({ checkpoint_id: checkpointId, interrupts = [] }: RunEventOf<'checkpoint'>, name: string) => ({
  id: deriveTaskId(checkpointId, name),
  name,
  path: ['__pregel_pull', name],
  interrupts,
});

import {
  type ChannelValues,
  type CheckpointReply,
  type CheckpointView,
  clientInterruptsOf,
  toClientState,
  type StateReply,
  type TaskReply,
  type ThreadRecord,
  type ThreadReply,
} from '@caribou/contracts';
import { deriveTaskId } from '../runs/streams/projections/task-id.js';

/**
 * A thread as clients see it; `values` are the channels of its record, and the messages when the caller has read them.
 */
export function threadJson(record: ThreadRecord, values: ChannelValues = record.values): ThreadReply {
  const { thread_id, created_at, updated_at, metadata, status } = record;
  const interrupts = status === 'interrupted' ? clientInterruptsOf(record.values) : [];
  return {
    thread_id,
    created_at,
    updated_at,
    metadata,
    status,
    config: {},
    values: toClientState(values),
    interrupts:
      record.head === null || interrupts.length === 0 ? {} : { [deriveTaskId(record.head, ASKING_TASK)]: interrupts },
  };
}

/** Names the task of a thread's interrupts in its list entry, which does not know the node. */
const ASKING_TASK = 'interrupts';

/** The named fields of an object; all fields when none is named. */
export function selectFields<T extends object>(object: T, fields: readonly (keyof T)[] | null | undefined): Partial<T> {
  if (fields === null || fields === undefined || fields.length === 0) return object;
  return Object.fromEntries(fields.map((field) => [field, object[field]])) as Partial<T>;
}

export const checkpointJson = (threadId: string, checkpointId: string): CheckpointReply => ({
  thread_id: threadId,
  checkpoint_ns: '',
  checkpoint_id: checkpointId,
  checkpoint_map: null,
});

/** The state of a thread without runs; clients expect it instead of a 404. */
export const FRESH_STATE: StateReply = {
  values: {},
  next: [],
  tasks: [],
  metadata: {},
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
};

/**
 * The only entry of a history with the newest state. Its reader does not know of branches, so its runs follow the head.
 */
export const onlyHeadJson = (threadId: string, view: CheckpointView): StateReply => ({
  ...stateJson(threadId, view),
  checkpoint: { ...checkpointJson(threadId, view.checkpointId), follows_head: true },
});

/** A checkpoint as LangGraph's ThreadState. */
export function stateJson(threadId: string, view: CheckpointView): StateReply {
  return {
    values: { ...toClientState(view.state) },
    next: [...view.next],
    tasks: view.next.map((name) => taskJson(view, name)),
    metadata: { parents: {}, ...view.metadata },
    created_at: view.createdAt,
    checkpoint: checkpointJson(threadId, view.checkpointId),
    parent_checkpoint: view.parentId === null ? null : checkpointJson(threadId, view.parentId),
  };
}

/** The selected fields of a state, where `values.<channel>` selects one channel; all fields when none is named. */
export function selectState(state: StateReply, select: readonly string[] | null | undefined): Partial<StateReply> {
  if (select === null || select === undefined || select.length === 0) return state;
  const wanted = new Set(select);
  const fields = Object.entries({ ...state, interrupts: state.tasks.flatMap(({ interrupts }) => interrupts) });
  const values = Object.entries(state.values).filter(([name]) => wanted.has(`values.${name}`));
  const hasChannels = !wanted.has('values') && select.some((name) => name.startsWith('values.'));
  return {
    ...Object.fromEntries(fields.filter(([name]) => wanted.has(name))),
    ...(hasChannels ? { values: Object.fromEntries(values) } : {}),
  };
}

/**
 * A task in LangGraph's ThreadState. Its `error` is JSON in a string, which the SDK's hook parses to show the message.
 */
function taskJson({ checkpointId, error, state }: CheckpointView, name: string): TaskReply {
  return {
    id: deriveTaskId(checkpointId, name),
    name,
    path: ['__pregel_pull', name],
    error: error === undefined ? null : JSON.stringify({ message: error.message, name: error.name }),
    interrupts: clientInterruptsOf(state),
    checkpoint: null,
    state: null,
    result: null,
  };
}

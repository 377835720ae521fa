import type { RunEvent, RunEventOf, RunRecord } from '@caribou/contracts';
import type { FrameKind, ProjectionState } from './frame.js';
import { sumUp } from './messages.js';
import { deriveStartedTaskId } from './task-id.js';

/** The state of a stream before its first event. */
export const initialState = (run: Pick<RunRecord, 'attempt' | 'created_at' | 'kwargs'>): ProjectionState => ({
  attempt: Math.max(1, run.attempt),
  checkpointId: null,
  next: [],
  interrupts: [],
  timestamp: run.created_at,
  model: run.kwargs.context.model_name ?? '',
  tasks: new Map(),
  partials: new Map(),
});

const interruptsIn = ({ interrupts = [] }: RunEventOf<'checkpoint'>): ProjectionState['interrupts'] => interrupts;

const showTasks: readonly FrameKind[] = ['tasks', 'debug'];

/** Applies one event to the state, as far as the shown kinds of frame need it; called after its frames were created. */
export function reduce(state: ProjectionState, event: RunEvent, kinds: ReadonlySet<FrameKind>): void {
  switch (event.kind) {
    case 'run.start':
      // A retried model call also writes this event, and its task continues.
      if (event.attempt !== state.attempt) state.tasks.clear();
      state.attempt = event.attempt;
      if (event.checkpoint_id !== null) state.checkpointId = event.checkpoint_id;
      for (const id of event.dropped_message_ids) state.partials.delete(id);
      return;
    case 'checkpoint':
      state.checkpointId = event.checkpoint_id;
      state.next = event.next;
      state.interrupts = interruptsIn(event);
      state.timestamp = event.created_at;
      state.tasks.clear();
      return;
    case 'task.start':
      if (!showTasks.some((kind) => kinds.has(kind))) return;
      state.tasks.set(event.task_id, { node: event.node, id: deriveStartedTaskId(event, state) });
      return;
    case 'model.start':
      state.model = event.model;
      return;
    case 'message.delta':
      if (!kinds.has('messages-partial')) return;
      state.partials.set(event.message_id, sumUp(state.partials.get(event.message_id), event));
      return;
    case 'message':
      state.partials.delete(event.message.id);
      return;
    default:
  }
}

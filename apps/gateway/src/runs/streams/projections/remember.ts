import type { RunEvent, RunRecord } from '@caribou/contracts';
import type { FrameKind, StreamMemory } from './frame.js';
import { sumUp } from './messages.js';
import { startedTaskId } from './task-id.js';

/** Memory of a stream that has seen nothing yet. */
export const freshMemory = (run: Pick<RunRecord, 'attempt' | 'created_at' | 'kwargs'>): StreamMemory => ({
  attempt: Math.max(1, run.attempt),
  checkpointId: null,
  next: [],
  timestamp: run.created_at,
  model: run.kwargs.context.model_name ?? '',
  tasks: new Map(),
  partials: new Map(),
});

const showTasks: readonly FrameKind[] = ['tasks', 'debug'];

/** Takes one event into the memory, as far as the shown kinds of frame need it; after its frames were made. */
export function remember(memory: StreamMemory, event: RunEvent, kinds: ReadonlySet<FrameKind>): void {
  switch (event.kind) {
    case 'run.start':
      // Also told when a model call is retried: the task it belongs to goes on then.
      if (event.attempt !== memory.attempt) memory.tasks.clear();
      memory.attempt = event.attempt;
      if (event.checkpoint_id !== null) memory.checkpointId = event.checkpoint_id;
      for (const id of event.dropped_message_ids) memory.partials.delete(id);
      return;
    case 'checkpoint':
      memory.checkpointId = event.checkpoint_id;
      memory.next = event.next;
      memory.timestamp = event.created_at;
      memory.tasks.clear();
      return;
    case 'task.start':
      if (!showTasks.some((kind) => kinds.has(kind))) return;
      memory.tasks.set(event.task_id, { node: event.node, id: startedTaskId(event, memory) });
      return;
    case 'model.start':
      memory.model = event.model;
      return;
    case 'message.delta':
      if (!kinds.has('messages-partial')) return;
      memory.partials.set(event.message_id, sumUp(memory.partials.get(event.message_id), event));
      return;
    case 'message':
      memory.partials.delete(event.message.id);
      return;
    default:
  }
}

import type { RunEventOf } from '@caribou/contracts';
import type { ProjectionState } from './frame.js';
import { stableId } from './stable-id.js';

/**
 * The id of a task that a checkpoint announces by the name of its node. It is the same in `debug` checkpoints, in the
 * thread's state and in the frames of the started task, so that clients can match them.
 */
export const deriveTaskId = (checkpointId: string, node: string): string => stableId(`${checkpointId}:${node}`);

/** The id of a started task. A checkpoint announces each node once, so further parallel tasks of it are numbered. */
export function deriveStartedTaskId(event: RunEventOf<'task.start'>, { checkpointId, tasks }: ProjectionState): string {
  if (checkpointId === null) return event.task_id;
  const earlier = [...tasks.values()].filter(({ node }) => node === event.node).length;
  return deriveTaskId(checkpointId, earlier === 0 ? event.node : `${event.node}:${earlier}`);
}

/** The id under which the task was started. */
export const findTaskId = (event: RunEventOf<'task.end'>, { tasks }: ProjectionState): string =>
  tasks.get(event.task_id)?.id ?? event.task_id;

import type { RunEventOf } from '@caribou/contracts';
import type { ProjectionState } from './frame.js';
import { stableId } from './stable-id.js';

/**
 * Id of the task a checkpoint announces by its node's name: the same in `debug` checkpoints, in thread state, and in
 * the frames of the task once it starts, so that clients can join them.
 */
export const deriveTaskId = (checkpointId: string, node: string): string => stableId(`${checkpointId}:${node}`);

/** The id of a task that starts. A checkpoint announces each node once: parallel tasks after the first are numbered. */
export function deriveStartedTaskId(event: RunEventOf<'task.start'>, { checkpointId, tasks }: ProjectionState): string {
  if (checkpointId === null) return event.task_id;
  const earlier = [...tasks.values()].filter(({ node }) => node === event.node).length;
  return deriveTaskId(checkpointId, earlier === 0 ? event.node : `${event.node}:${earlier}`);
}

/** The id a task was started under. */
export const findTaskId = (event: RunEventOf<'task.end'>, { tasks }: ProjectionState): string =>
  tasks.get(event.task_id)?.id ?? event.task_id;

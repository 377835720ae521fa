import { TaskEvent } from '@caribou/contracts';
import type { RunEventLog } from '@caribou/core';

/** What the watchers of a run were told of one of its tasks. */
export interface Told {
  readonly started: boolean;
  /** Highest `message_index`. */
  readonly steps: number;
  readonly ended: boolean;
}

export const NOTHING_TOLD: Told = { started: false, steps: 0, ended: false };

const PAGE = 500;

/**
 * What a run's log tells of its tasks, by their id. The log is the cursor: an event stands in it, or nobody was told.
 *
 * @throws {UnavailableError} when the log cannot be read now
 */
export async function toldOf(log: RunEventLog, userId: string, runId: string): Promise<ReadonlyMap<string, Told>> {
  const tasks = new Map<string, Told>();
  for (let after = 0; ; ) {
    const { events } = await log.read(userId, runId, { after, limit: PAGE });
    for (const { event } of events) {
      const told = event.kind === 'custom' ? TaskEvent.safeParse(event.data).data : undefined;
      if (told !== undefined) tasks.set(told.task_id, joined(tasks.get(told.task_id) ?? NOTHING_TOLD, told));
    }
    const last = events.at(-1);
    if (last === undefined || events.length < PAGE) return tasks;
    after = last.seq;
  }
}

function joined(before: Told, event: TaskEvent): Told {
  if (event.type === 'task_started') return { ...before, started: true };
  if (event.type === 'task_running') return { ...before, steps: Math.max(before.steps, event.message_index) };
  return { ...before, ended: true };
}

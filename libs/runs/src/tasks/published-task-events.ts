import { TaskEvent } from '@caribou/contracts';
import type { RunEventLog } from '@caribou/state';

/** What a run's log already contains about one of its tasks. */
export interface PublishedTaskEvents {
  readonly started: boolean;
  /** The highest `message_index` published. */
  readonly steps: number;
  readonly ended: boolean;
}

export const NONE_PUBLISHED: PublishedTaskEvents = { started: false, steps: 0, ended: false };

const PAGE = 500;

/**
 * Reads what a run's log contains about its tasks, by task id. The log is the cursor: an event that is not in it was
 * never published.
 *
 * @throws {UnavailableError} when the log cannot be read now
 */
export async function readPublishedTaskEvents(
  log: RunEventLog,
  userId: string,
  runId: string,
): Promise<ReadonlyMap<string, PublishedTaskEvents>> {
  const tasks = new Map<string, PublishedTaskEvents>();
  for (let after = 0; ; ) {
    const { events, lastSeq } = await log.read(userId, runId, { after, limit: PAGE });
    for (const { event } of events) {
      const published = event.kind === 'custom' ? TaskEvent.safeParse(event.data).data : undefined;
      if (published === undefined) continue;
      tasks.set(published.task_id, merge(tasks.get(published.task_id) ?? NONE_PUBLISHED, published));
    }
    const last = events.at(-1);
    if (last === undefined || last.seq >= lastSeq) return tasks;
    after = last.seq;
  }
}

function merge(before: PublishedTaskEvents, event: TaskEvent): PublishedTaskEvents {
  if (event.type === 'task_started') return { ...before, started: true };
  if (event.type === 'task_running') return { ...before, steps: Math.max(before.steps, event.message_index) };
  return { ...before, ended: true };
}

import { BugError, type CancelAction } from '@caribou/contracts';
import type { ClaimResult, ParentStanding, RunStore, TaskSlots, ThreadKey } from '@caribou/core';
import { taskSpecOf } from '@caribou/runs';
import type { HeldTask, HeldTasks } from './held-tasks.js';

export interface SlottedStoreParts {
  /** Where tasks are. */
  readonly store: RunStore;
  readonly slots: Pick<TaskSlots, 'renew'>;
  readonly held: HeldTasks;
}

/**
 * The store as a pool uses it: the right to a task is its lease and its slot together. Each renewal prolongs the slot
 * first and fails without it, so that a task never runs on a slot that somebody else has by now; and it looks at the
 * parent, so that nobody works on for a run that is over: its end is a cancel of the task, and when nothing is left of
 * it, nothing stays of the task either.
 */
export function slottedStore({ store, slots, held }: SlottedStoreParts): RunStore {
  async function endedByParent({ slot, spec }: HeldTask): Promise<CancelAction | null> {
    if (spec === undefined) return null;
    const { userId } = slot;
    return actions[await slots.renew(slot, { userId, runId: spec.parent.run_id })];
  }

  return {
    ...store,
    claim: async (thread, ownerId): Promise<ClaimResult> => {
      const claimed = await store.claim(thread, ownerId);
      if (claimed.kind !== 'run') return claimed;
      const task = taskOf(held, thread);
      const spec = taskSpecOf(claimed.run);
      if (spec !== undefined) task.spec = spec;
      const cancel = claimed.run.cancel ?? (await endedByParent(task));
      return { ...claimed, run: { ...claimed.run, cancel } };
    },
    renew: async (lease) => {
      const byParent = await endedByParent(taskOf(held, lease));
      const { cancel } = await store.renew(lease);
      return { cancel: cancel ?? byParent };
    },
  };
}

const actions: Readonly<Record<ParentStanding, CancelAction | null>> = {
  live: null,
  over: 'interrupt',
  gone: 'rollback',
};

function taskOf(held: HeldTasks, thread: ThreadKey): HeldTask {
  const task = held.of(thread);
  if (task === undefined) throw new BugError('a task is worked on without a slot', { details: { ...thread } });
  return task;
}

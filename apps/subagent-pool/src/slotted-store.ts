import { BugError, type CancelAction, type TaskSpec } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ClaimResult, ParentState, RunStore, TaskSlot, TaskSlots } from '@caribou/state';
import { taskSpecOf } from '@caribou/runs';
import type { HeldTask, HeldTasks } from './held-tasks.js';

export interface SlottedStoreParts {
  /** The store of the runs of tasks. */
  readonly store: RunStore;
  readonly slots: Pick<TaskSlots, 'renew' | 'parentState'>;
  /** Deletes the records of a finished task. */
  readonly forget: (task: ThreadKey) => Promise<void>;
  readonly held: HeldTasks;
}

/**
 * The store as a pool uses it: executing a task requires both its lease and its slot. Each renewal extends the slot
 * first and fails when the slot is lost, so that a task never runs in a slot that another pool has. It also checks the
 * parent run, whose end cancels the task. If the parent has been deleted when the task ends, the task is deleted, too;
 * a parent that is deleted later deletes its finished tasks itself.
 */
export function createSlottedStore({ store, slots, forget, held }: SlottedStoreParts): RunStore {
  /** Extends the slot; returns the cancel that follows from the state of the parent run. */
  async function renewSlot({ slot, spec }: HeldTask): Promise<CancelAction | null> {
    if (spec === undefined) return null;
    return actions[await slots.renew(slot, parentOf(slot, spec))];
  }

  return {
    ...store,
    claim: async (thread, ownerId): Promise<ClaimResult> => {
      const claimed = await store.claim(thread, ownerId);
      if (claimed.kind !== 'run') return claimed;
      const task = taskOf(held, thread);
      const spec = taskSpecOf(claimed.run);
      if (spec !== undefined) task.spec = spec;
      const cancel = claimed.run.cancel ?? (await renewSlot(task));
      return { ...claimed, run: { ...claimed.run, cancel } };
    },
    renew: async (lease) => {
      const byParent = await renewSlot(taskOf(held, lease));
      const { cancel } = await store.renew(lease);
      return { cancel: cancel ?? byParent };
    },
    finish: async (lease, request) => {
      const finished = await store.finish(lease, request);
      const { slot, spec } = taskOf(held, lease);
      if (spec !== undefined && (await slots.parentState(parentOf(slot, spec))) === 'gone') await forget(lease);
      return finished;
    },
  };
}

const actions: Readonly<Record<ParentState, CancelAction | null>> = {
  live: null,
  over: 'interrupt',
  gone: 'interrupt',
};

const parentOf = ({ userId }: TaskSlot, { parent, continuation }: TaskSpec) => ({
  userId,
  runId: continuation?.parent_run_id ?? parent.run_id,
});

function taskOf(held: HeldTasks, thread: ThreadKey): HeldTask {
  const task = held.of(thread);
  if (task === undefined) throw new BugError('a task is worked on without a slot', { details: { ...thread } });
  return task;
}

import { BugError, type CancelAction, type TaskSpec } from '@caribou/contracts';
import type { ClaimResult, ParentState, RunStore, TaskSlot, TaskSlots, ThreadKey } from '@caribou/core';
import { taskSpecOf } from '@caribou/runs';
import type { HeldTask, HeldTasks } from './held-tasks.js';

export interface SlottedStoreParts {
  /** Where tasks are. */
  readonly store: RunStore;
  readonly slots: Pick<TaskSlots, 'renew' | 'parentState'>;
  /** Removes what is kept of a task that is over. */
  readonly forget: (task: ThreadKey) => Promise<void>;
  readonly held: HeldTasks;
}

/**
 * The store as a pool uses it: the right to a task is its lease and its slot together. Each renewal prolongs the slot
 * first and fails without it, so that a task never runs on a slot that somebody else has by now; and it looks at the
 * parent, so that nobody works on for a run that is over: its end is a cancel of the task. When nothing is left of it by the time
 * the task ends, nothing stays of the task either; whoever deletes it later finds the task among those that are over.
 */
export function createSlottedStore({ store, slots, forget, held }: SlottedStoreParts): RunStore {
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

const parentOf = ({ userId }: TaskSlot, spec: TaskSpec) => ({ userId, runId: spec.parent.run_id });

function taskOf(held: HeldTasks, thread: ThreadKey): HeldTask {
  const task = held.of(thread);
  if (task === undefined) throw new BugError('a task is worked on without a slot', { details: { ...thread } });
  return task;
}
